//! The active behaviors, what they do, the calls that show it, and the result of each: `ok` by default. `&` separates several results.

pub(super) const TABLE: &str = r##"
# none: nothing strikes
    sqs CreateQueue QueueName=q
    sqs GetQueueAttributes QueueUrl=q

# held S1: a name is refused after a delete
    sqs CreateQueue QueueName=q
    sqs DeleteQueue QueueUrl=q
    sqs CreateQueue QueueName=q -> AWS.SimpleQueueService.QueueDeletedRecently
    settle
    sqs CreateQueue QueueName=q
    struck S1 -> 1

# S2: an existing queue keeps its tags, and differs in an attribute that a call names
    sqs CreateQueue QueueName=q Attributes={"VisibilityTimeout":"30"} tags={"a":"30"}
    sqs CreateQueue QueueName=q Attributes={"VisibilityTimeout":"31"} -> QueueAlreadyExists
    sqs CreateQueue QueueName=q tags={"a":"another"}
    sqs ListQueueTags QueueUrl=q -> /Tags/a 30

# held S3: a new queue is not found
    sqs CreateQueue QueueName=q
    sqs GetQueueAttributes QueueUrl=q -> AWS.SimpleQueueService.NonExistentQueue
    settle
    sqs GetQueueAttributes QueueUrl=q

# held S4: attributes are late
    sqs CreateQueue QueueName=q Attributes={"VisibilityTimeout":"30"}
    sqs SetQueueAttributes QueueUrl=q Attributes={"VisibilityTimeout":"60"}
    sqs GetQueueAttributes QueueUrl=q AttributeNames=["All"] -> /Attributes/VisibilityTimeout 30
    settle
    sqs GetQueueAttributes QueueUrl=q AttributeNames=["All"] -> /Attributes/VisibilityTimeout 60

# S9: a deleted queue answers for a while, at last to every other call
    sqs CreateQueue QueueName=q
    sqs DeleteQueue QueueUrl=q
    sqs DeleteQueue QueueUrl=q -> AWS.SimpleQueueService.NonExistentQueue
    sqs SendMessage QueueUrl=q MessageBody=lost
    sqs CreateQueue QueueName=q
    sqs ListQueues -> /QueueUrls 1
    wait 1000
    sqs GetQueueAttributes QueueUrl=q -> AWS.SimpleQueueService.NonExistentQueue
    sqs GetQueueAttributes QueueUrl=q
    sqs GetQueueAttributes QueueUrl=q -> AWS.SimpleQueueService.NonExistentQueue
    settle
    sqs GetQueueAttributes QueueUrl=q -> AWS.SimpleQueueService.NonExistentQueue
    sqs CreateQueue QueueName=q

# S11: queues in China take smaller messages
    in cn-north-1 sqs CreateQueue QueueName=q Attributes={"MaximumMessageSize":"262145"} -> InvalidAttributeValue
    in cn-north-1 sqs CreateQueue QueueName=q Attributes={"MaximumMessageSize":"262144"}
    sqs CreateQueue QueueName=q Attributes={"MaximumMessageSize":"262145"}

# S12: counts are late
    sqs CreateQueue QueueName=q
    sqs SendMessage QueueUrl=q MessageBody=m
    sqs GetQueueAttributes QueueUrl=q AttributeNames=["All"] -> /Attributes/ApproximateNumberOfMessages 0
    settle
    sqs GetQueueAttributes QueueUrl=q AttributeNames=["All"] -> /Attributes/ApproximateNumberOfMessages 1

# S14: a Region ignores statements with conditions on tags
    iam CreateRole RoleName=r AssumeRolePolicyDocument=$trust
    iam PutRolePolicy RoleName=r PolicyName=p PolicyDocument={"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:Send*","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/a":"b"}}}]}
    in eu-south-2 lambda POST functions $function
    in eu-south-2 sqs CreateQueue QueueName=q
    in eu-south-2 function sqs SendMessage QueueUrl=q MessageBody=m -> AccessDenied
    iam PutRolePolicy RoleName=r PolicyName=p PolicyDocument=$policy
    in eu-south-2 function sqs SendMessage QueueUrl=q MessageBody=m

# held S15: new tags do not count for a function
    sqs CreateQueue QueueName=q
    function sqs SendMessage QueueUrl=q MessageBody=m -> AccessDenied
    function sqs GetQueueAttributes QueueUrl=q
    sqs SendMessage QueueUrl=q MessageBody=m
    settle
    function sqs SendMessage QueueUrl=q MessageBody=m

# S18: a disabled key has its own code
    sqs CreateQueue QueueName=q
    sqs SetQueueAttributes QueueUrl=q Attributes={"KmsMasterKeyId":"alias/absent"}
    sqs SendMessageBatch QueueUrl=q Entries=[{"Id":"1","MessageBody":"m"}] -> KMS.NotFoundException

# held S23: a new dead-letter queue is not found
    sqs CreateQueue QueueName=q
    sqs CreateQueue QueueName=source Attributes={"RedrivePolicy":"{\"deadLetterTargetArn\":\"$queue\",\"maxReceiveCount\":5}"} -> InvalidParameterValue
    settle
    sqs CreateQueue QueueName=source Attributes={"RedrivePolicy":"{\"deadLetterTargetArn\":\"$queue\",\"maxReceiveCount\":5}"}

# S24: a queue takes the dead letters of those that it allows
    sqs CreateQueue QueueName=q
    sqs CreateQueue QueueName=b
    sqs SetQueueAttributes QueueUrl=q Attributes={"RedriveAllowPolicy":""}
    sqs CreateQueue QueueName=a1 Attributes={"RedrivePolicy":"{\"deadLetterTargetArn\":\"$queue\",\"maxReceiveCount\":5}"}
    sqs SetQueueAttributes QueueUrl=b Attributes={"RedrivePolicy":"{\"deadLetterTargetArn\":\"$queue\",\"maxReceiveCount\":5}"}
    sqs SetQueueAttributes QueueUrl=q Attributes={"RedriveAllowPolicy":"{\"redrivePermission\":\"allowAll\"}"}
    sqs CreateQueue QueueName=a2 Attributes={"RedrivePolicy":"{\"deadLetterTargetArn\":\"$queue\",\"maxReceiveCount\":5}"}
    sqs SetQueueAttributes QueueUrl=b Attributes={"RedrivePolicy":"{\"deadLetterTargetArn\":\"$queue\",\"maxReceiveCount\":5}"}
    sqs SetQueueAttributes QueueUrl=q Attributes={"RedriveAllowPolicy":"{\"redrivePermission\":\"denyAll\"}"}
    sqs CreateQueue QueueName=a3 Attributes={"RedrivePolicy":"{\"deadLetterTargetArn\":\"$queue\",\"maxReceiveCount\":5}"} -> InvalidParameterValue
    sqs SetQueueAttributes QueueUrl=b Attributes={"RedrivePolicy":"{\"deadLetterTargetArn\":\"$queue\",\"maxReceiveCount\":5}"} -> InvalidParameterValue
    sqs SetQueueAttributes QueueUrl=q Attributes={"RedriveAllowPolicy":"{\"redrivePermission\":\"byQueue\",\"sourceQueueArns\":[\"arn:aws:sqs:us-west-2:ACCOUNT:other\"]}"}
    sqs CreateQueue QueueName=a3 Attributes={"RedrivePolicy":"{\"deadLetterTargetArn\":\"$queue\",\"maxReceiveCount\":5}"} -> InvalidParameterValue
    sqs SetQueueAttributes QueueUrl=b Attributes={"RedrivePolicy":"{\"deadLetterTargetArn\":\"$queue\",\"maxReceiveCount\":5}"} -> InvalidParameterValue
    sqs SetQueueAttributes QueueUrl=q Attributes={"RedriveAllowPolicy":"{\"redrivePermission\":\"byQueue\",\"sourceQueueArns\":[\"arn:aws:sqs:us-west-2:ACCOUNT:a3\",\"arn:aws:sqs:us-west-2:ACCOUNT:b\"]}"}
    sqs CreateQueue QueueName=a3 Attributes={"RedrivePolicy":"{\"deadLetterTargetArn\":\"$queue\",\"maxReceiveCount\":5}"}
    sqs SetQueueAttributes QueueUrl=b Attributes={"RedrivePolicy":"{\"deadLetterTargetArn\":\"$queue\",\"maxReceiveCount\":5}"}
    struck S24 -> 4

# S28: a receive without a visibility timeout gives copies of one message
    sqs CreateQueue QueueName=q
    sqs SendMessage QueueUrl=q MessageBody=m -> let id /MessageId
    sqs ReceiveMessage QueueUrl=q MaxNumberOfMessages=10 VisibilityTimeout=0 -> /Messages 10 & /Messages/9/MessageId $id
    sqs ReceiveMessage QueueUrl=q MaxNumberOfMessages=10 VisibilityTimeout=1 -> /Messages 1
    struck S28 -> 1

# held T1: the tagging API learns and forgets late
    sqs CreateQueue QueueName=q tags={"a":"b"}
    tagging GetResources -> /ResourceTagMappingList 0
    settle
    tagging GetResources -> /ResourceTagMappingList 1
    sqs DeleteQueue QueueUrl=q
    tagging GetResources -> /ResourceTagMappingList 1
    settle
    tagging GetResources -> /ResourceTagMappingList 0

# S13 S27 L21 I10 G1 T4 N2: buckets empty and refill
    often sqs CreateQueue QueueName=q -> ThrottlingException ok
    often iam ListRoles -> Throttling ok
    often sqs ListQueueTags QueueUrl=q -> RequestThrottled ok
    often lambda GET event-source-mappings/ -> TooManyRequestsException ok
    often logs DescribeLogGroups -> ThrottlingException ok
    often ssm PutParameter Name=/x Type=String Value=x Overwrite=true -> ThrottlingException ok
    often ec2 DescribeTags -> RequestLimitExceeded ok
    wait 1000
    sqs ListQueueTags QueueUrl=q

# held E6: a rule is not deleted with targets, nor right after
    events PutRule Name=u EventPattern="{\"source\":[\"a\"]}"
    events PutTargets Rule=u Targets=[{"Id":"1","Arn":"$queue"}]
    events DeleteRule Name=u -> ValidationException Rule can't be deleted since it has targets.
    events RemoveTargets Rule=u Ids=["1"]
    events DeleteRule Name=u -> ValidationException Rule can't be deleted since it has targets.
    settle
    events DeleteRule Name=u

# E1 E4 E12: a new rule is late
    events PutRule Name=u EventPattern="{\"source\":[\"a\"]}"
    events PutTargets Rule=u Targets=[{"Id":"1","Arn":"$queue"}] -> ResourceNotFoundException
    settle
    events PutTargets Rule=u Targets=[{"Id":"1","Arn":"$queue"}]
    events ListTargetsByRule Rule=u -> /Targets 0
    wait 1000
    events ListTargetsByRule Rule=u -> /Targets 1

# I1: the new permissions of a function are denied at first
    iam CreateRole RoleName=r AssumeRolePolicyDocument=$trust
    iam PutRolePolicy RoleName=r PolicyName=p PolicyDocument=$policy
    lambda POST functions $function
    sqs CreateQueue QueueName=q
    function sqs SendMessage QueueUrl=q MessageBody=m -> AccessDenied
    function ec2 DescribeTags -> UnauthorizedOperation
    lambda POST event-source-mappings FunctionName=f EventSourceArn=$queue -> InvalidParameterValueException
    wait 1550
    function sqs SendMessage QueueUrl=q MessageBody=m
    function ec2 DescribeTags
    lambda POST event-source-mappings FunctionName=f EventSourceArn=$queue

# held I2: a trust policy with a new role is refused
    iam CreateRole RoleName=r AssumeRolePolicyDocument=$trust
    iam CreateRole RoleName=other AssumeRolePolicyDocument={"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"$role"},"Action":"sts:AssumeRole"}]} -> MalformedPolicyDocument
    settle
    iam CreateRole RoleName=other AssumeRolePolicyDocument={"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"$role"},"Action":"sts:AssumeRole"}]}

# held I3: a new role is not found
    iam CreateRole RoleName=r AssumeRolePolicyDocument=$trust
    iam PutRolePolicy RoleName=r PolicyName=p PolicyDocument=$policy -> NoSuchEntity
    iam GetRole RoleName=r -> NoSuchEntity
    settle
    iam PutRolePolicy RoleName=r PolicyName=p PolicyDocument=$policy

# held I4: deleted policies linger
    iam CreateRole RoleName=r AssumeRolePolicyDocument=$trust
    iam PutRolePolicy RoleName=r PolicyName=p PolicyDocument=$policy
    iam DeleteRolePolicy RoleName=r PolicyName=p
    iam DeleteRole RoleName=r -> DeleteConflict
    settle
    iam DeleteRole RoleName=r

# held I9: a condition does not see a new boundary
    iam CreateRole RoleName=r AssumeRolePolicyDocument=$trust
    iam PutRolePolicy RoleName=r PolicyName=p PolicyDocument=$policy
    iam PutRolePermissionsBoundary RoleName=r PermissionsBoundary=arn:aws:iam::ACCOUNT:policy/b
    iam PutRolePolicy RoleName=r PolicyName=p PolicyDocument=$policy -> AccessDenied
    iam PutRolePolicy RoleName=r PolicyName=p PolicyDocument=$policy -> AccessDenied
    iam PutRolePolicy RoleName=r PolicyName=p PolicyDocument=$policy

# held I9: a condition does not see new tags
    sqs CreateQueue QueueName=q
    sqs SetQueueAttributes QueueUrl=q Attributes={"VisibilityTimeout":"60"}
    sqs TagQueue QueueUrl=q Tags={"kibus:bus":"kibus"}
    sqs SetQueueAttributes QueueUrl=q Attributes={"VisibilityTimeout":"60"} -> AccessDenied
    sqs SetQueueAttributes QueueUrl=q Attributes={"VisibilityTimeout":"60"} -> AccessDenied
    sqs SetQueueAttributes QueueUrl=q Attributes={"VisibilityTimeout":"60"}

# L1 L18: a new role is late
    iam CreateRole RoleName=r AssumeRolePolicyDocument=$trust
    lambda POST functions $function -> InvalidParameterValueException
    settle
    lambda POST functions $function
    lambda POST functions/f/invocations -> AccessDeniedException
    wait 1550
    lambda POST functions/f/invocations -> not AccessDeniedException
    struck L18 -> 1

# L2 L19: variables are sealed for a role, and without any nothing is
    iam CreateRole RoleName=r AssumeRolePolicyDocument=$trust
    lambda POST functions $function Environment={"Variables":{"A":"b"}} -> InvalidParameterValueException
    settle
    lambda POST functions $function Environment={"Variables":{"A":"b"}}
    lambda POST functions/f/invocations -> not KMSAccessDeniedException
    iam DeleteRole RoleName=r
    iam CreateRole RoleName=r AssumeRolePolicyDocument=$trust
    lambda POST functions/f/invocations -> KMSAccessDeniedException
    settle
    lambda PUT functions/f/configuration Role=$role Environment={"Variables":{}}
    lambda POST functions/f/invocations -> not KMSAccessDeniedException

# held L4: a new function is not found
    lambda POST functions $function
    lambda GET functions/f/configuration -> ResourceNotFoundException
    settle
    lambda GET functions/f/configuration

# held L5 L6 L7: a new function is busy
    lambda POST functions $function
    lambda GET functions/f/configuration -> /State Pending
    lambda PUT functions/f/configuration Timeout=5 -> CodeArtifactUserPendingException
    lambda PUT functions/f/configuration Timeout=5 -> ResourceConflictException Pending
    settle
    switch held L5 L6 L7
    lambda PUT functions/f/configuration Timeout=5 -> ResourceConflictException concurrent update
    lambda PUT functions/f/configuration Timeout=5
    lambda GET functions/f/configuration -> /LastUpdateStatus InProgress
    lambda PUT functions/f/configuration Timeout=5 -> ResourceConflictException An update is in progress
    lambda POST functions/f/invocations -> CodeArtifactUserPendingException
    lambda POST functions/f/invocations -> ResourceNotReadyException

# L10: other code than the call names is not published
    lambda POST functions $function
    lambda POST functions/f/versions CodeSha256=other -> InvalidParameterValueException
    lambda GET functions/f/configuration -> let hash /CodeSha256
    lambda POST functions/f/versions CodeSha256=$hash

# held L12: cleared weights are shown until all has arrived
    lambda POST functions $function
    lambda POST functions/f/aliases Name=a FunctionVersion=$LATEST RoutingConfig={"AdditionalVersionWeights":{"7":0.5}}
    lambda PUT functions/f/aliases/a RoutingConfig={"AdditionalVersionWeights":{}}
    wait 1500
    lambda GET functions/f/aliases/a -> /RoutingConfig/AdditionalVersionWeights/7 0.5
    settle
    lambda GET functions/f/aliases/a -> /RoutingConfig/AdditionalVersionWeights/7 none

# held L14: a deleted function keeps its name for a while
    lambda POST functions $function
    lambda DELETE functions/f
    lambda GET functions/f -> /Configuration/State Deleting
    lambda POST functions $function -> ResourceConflictException Deleting
    settle
    lambda GET functions/f -> ResourceNotFoundException

# L17: a function without concurrency is throttled
    lambda POST functions $function
    lambda POST functions/f/invocations -> not TooManyRequestsException
    lambda PUT functions/f/concurrency ReservedConcurrentExecutions=0
    lambda POST functions/f/invocations -> TooManyRequestsException
    struck L17 -> 1

# held L5 L22: a change names the latest revision
    lambda POST functions $function
    lambda GET functions/f/configuration -> let pending /RevisionId
    lambda POST functions/f/versions RevisionId=$pending -> PreconditionFailedException
    settle
    lambda GET functions/f/configuration -> let created /RevisionId
    lambda PUT functions/f/configuration Timeout=5 -> let updating /RevisionId
    lambda POST functions/f/versions RevisionId=$created -> PreconditionFailedException
    settle
    lambda POST functions/f/versions RevisionId=$updating -> PreconditionFailedException
    lambda GET functions/f/configuration -> let updated /RevisionId
    lambda POST functions/f/versions RevisionId=$updated
    lambda POST functions/f/aliases Name=a FunctionVersion=1 -> let alias /RevisionId
    lambda PUT functions/f/aliases/a Description=d RevisionId=$alias
    lambda PUT functions/f/aliases/a Description=d RevisionId=$alias -> PreconditionFailedException
    struck L22 -> 4

# held M1 M2 M5 M7 M10 M14: a mapping is in transition
    sqs CreateQueue QueueName=q
    lambda POST functions $function
    lambda POST event-source-mappings FunctionName=f EventSourceArn=$queue ScalingConfig={"MaximumConcurrency":10} -> InvalidParameterValueException
    settle
    switch held M1 M2 M5 M7 M10 M14
    lambda POST event-source-mappings FunctionName=f EventSourceArn=$queue ScalingConfig={"MaximumConcurrency":10} -> let uuid /UUID
    lambda DELETE event-source-mappings/$uuid -> ResourceInUseException
    lambda GET event-source-mappings/$uuid -> ResourceNotFoundException
    lambda GET event-source-mappings/$uuid -> /State Creating
    settle
    lambda GET event-source-mappings/$uuid -> /State Enabled
    lambda GET event-source-mappings/$uuid -> /LastProcessingResult none
    lambda PUT functions/f/concurrency ReservedConcurrentExecutions=5
    struck M10 -> 1
    switch held M1 M2 M5 M7 M10 M14
    lambda DELETE event-source-mappings/$uuid
    lambda GET event-source-mappings/$uuid -> /State Deleting
    lambda GET event-source-mappings/?FunctionName=f -> /EventSourceMappings 1
    settle
    lambda GET event-source-mappings/$uuid -> ResourceNotFoundException

# N1: a parameter is created once and has bounds
    ssm PutParameter Name=/kibus/x Type=String Value=a Tags=[{"Key":"a","Value":"b"}] -> /Version 1
    ssm PutParameter Name=/kibus/x Type=String Value=b Tags=[{"Key":"a","Value":"b"}] -> ParameterAlreadyExists
    ssm PutParameter Name=/kibus/x Type=String Value=b Overwrite=true Tags=[{"Key":"a","Value":"b"}] -> ValidationException
    ssm PutParameter Name=/kibus/x Type=String Value= Overwrite=true -> ValidationException
    ssm PutParameter Name=/kibus/x Type=String Value=X4096x Overwrite=true -> ValidationException
    ssm PutParameter Name=/kibus/x Type=String Value={{x}} Overwrite=true -> ValidationException
    ssm PutParameter Name=/kibus/x Type=String Value=X4096 Overwrite=true -> /Version 2
    ssm PutParameter Name=/kibus/x Type=String Value=b Overwrite=true -> /Version 3
    struck N1 -> 4
    ssm PutParameter Name=/kibus/x/clusters/a Type=String Value=a -> /Version 1

# held N3: the name of a deleted parameter is refused for a while, of one that did not exist not
    ssm PutParameter Name=/kibus/x Type=String Value=a
    ssm DeleteParameter Name=/kibus/x
    ssm GetParameter Name=/kibus/x -> ParameterNotFound
    ssm PutParameter Name=/kibus/x Type=String Value=b -> ParameterAlreadyExists
    ssm DeleteParameter Name=/kibus/x -> ParameterNotFound
    settle
    ssm PutParameter Name=/kibus/x Type=String Value=a -> /Version 1
    ssm DeleteParameters Names=["/kibus/x","/kibus/y"] -> /InvalidParameters/0 /kibus/y
    ssm PutParameter Name=/kibus/x Type=String Value=b -> ParameterAlreadyExists
    ssm DeleteParameter Name=/kibus/x -> ParameterNotFound
    ssm PutParameter Name=/kibus/y Type=String Value=b -> /Version 1
    settle
    ssm PutParameter Name=/kibus/x Type=String Value=b -> /Version 1

# held N4: reads show what was before the last write
    ssm PutParameter Name=/kibus/x Type=String Value=a
    ssm GetParameter Name=/kibus/x -> ParameterNotFound
    ssm GetParameters Names=["/kibus/x"] -> /InvalidParameters/0 /kibus/x
    ssm GetParametersByPath Path=/kibus -> /Parameters 0
    settle
    ssm GetParameter Name=/kibus/x -> /Parameter/Value a
    ssm GetParameters Names=["/kibus/x"] -> /Parameters/0/Value a
    ssm GetParametersByPath Path=/kibus -> /Parameters/0/Value a
    switch held N4
    ssm PutParameter Name=/kibus/x Type=String Overwrite=true Value=b
    ssm GetParameter Name=/kibus/x -> /Parameter/Value a
    ssm PutParameter Name=/kibus/x Type=String Overwrite=true Value=c
    ssm GetParameter Name=/kibus/x -> /Parameter/Value a
    ssm GetParameters Names=["/kibus/x"] -> /Parameters/0/Value a
    ssm GetParametersByPath Path=/kibus -> /Parameters/0/Value a
    settle
    ssm GetParameter Name=/kibus/x -> /Parameter/Value c
    ssm GetParameters Names=["/kibus/x"] -> /Parameters/0/Value c
    ssm GetParametersByPath Path=/kibus -> /Parameters/0/Value c
    switch held N4
    ssm DeleteParameter Name=/kibus/x
    ssm GetParameter Name=/kibus/x -> /Parameter/Value c
    ssm GetParameters Names=["/kibus/x"] -> /Parameters/0/Value c
    ssm GetParametersByPath Path=/kibus -> /Parameters/0/Value c
    settle
    ssm GetParameter Name=/kibus/x -> ParameterNotFound
    ssm GetParameters Names=["/kibus/x"] -> /InvalidParameters/0 /kibus/x
    ssm GetParametersByPath Path=/kibus -> /Parameters 0

# none: a late list has nothing of other levels, and is in order
    ssm PutParameter Name=/kibus/a Type=String Value=a
    ssm PutParameter Name=/kibus/b Type=String Value=a
    ssm PutParameter Name=/kibus/b/clusters/c Type=String Value=a
    ssm PutParameter Name=/kibus2/d Type=String Value=a
    switch held N4
    ssm DeleteParameters Names=["/kibus/a","/kibus/b/clusters/c","/kibus2/d","/kibus/y"] -> /InvalidParameters/0 /kibus/y
    ssm GetParametersByPath Path=/kibus -> /Parameters 2 & /Parameters/0/Name /kibus/a
    ssm GetParametersByPath Path=/kibus/ -> /Parameters 2
    ssm GetParametersByPath Path=/kibus Recursive=true -> /Parameters 3 & /Parameters/2/Name /kibus/b/clusters/c
    ssm GetParametersByPath Path=/kibus/b -> /Parameters 0
    ssm GetParametersByPath Path=/kibus/b/clusters -> /Parameters/0/Name /kibus/b/clusters/c
    ssm GetParameter Name=/kibus/a -> /Parameter/Value a
    settle
    ssm GetParametersByPath Path=/kibus Recursive=true -> /Parameters 1

# none: a list has short pages and an empty one, of one level
    times 12 ssm PutParameter Name=/kibus/x/clusters/NUMBER Type=String Value=a
    switch N5
    ssm GetParametersByPath Path=/kibus/x/clusters -> /Parameters 10 & let next /NextToken
    ssm GetParametersByPath Path=/kibus/x/clusters NextToken="$next" -> /Parameters 2 & /Parameters/1/Name /kibus/x/clusters/11 & /NextToken none
    ssm GetParametersByPath Path=/kibus/x/clusters MaxResults=5 -> /Parameters 5 & let next /NextToken
    ssm GetParametersByPath Path=/kibus/x/clusters MaxResults=5 NextToken="$next" -> /Parameters/0/Name /kibus/x/clusters/05 & let next /NextToken
    ssm GetParametersByPath Path=/kibus/x/clusters MaxResults=5 NextToken="$next" -> /Parameters 2
    ssm GetParametersByPath Path=/kibus/x/clusters MaxResults=11 -> ValidationException
    ssm GetParametersByPath Path=/kibus/x/clusters NextToken=x -> InvalidNextToken
    ssm GetParametersByPath Path=/kibus -> /Parameters 0 & /NextToken none
    switch N5 N8
    ssm GetParametersByPath Path=/kibus/x/clusters MaxResults=6 -> /Parameters 0 & let next /NextToken
    ssm GetParametersByPath Path=/kibus/x/clusters MaxResults=6 NextToken="$next" -> /Parameters/5/Name /kibus/x/clusters/05 & let next /NextToken
    ssm GetParametersByPath Path=/kibus/x/clusters MaxResults=6 NextToken="$next" -> /Parameters 6 & /NextToken none
    switch N8
    ssm GetParametersByPath Path=/kibus -> let next /NextToken
    ssm GetParametersByPath Path=/kibus NextToken="$next" -> /Parameters 0 & /NextToken none

# N7: a call names ten parameters, and reports the absent ones
    ssm PutParameter Name=/kibus/x Type=String Value=a
    ssm GetParameters Names=["/0","/1","/2","/3","/4","/5","/6","/7","/8","/9","/10"] -> ValidationException
    ssm GetParameters Names=[] -> ValidationException
    ssm GetParameters Names=["/1","/2","/3","/4","/5","/6","/7","/8","/9","/10"] -> /InvalidParameters 10
    ssm GetParameters Names=["/0","/kibus/x"] -> /Parameters/0/Value a & /InvalidParameters/0 /0
    ssm DeleteParameters Names=["/0","/1","/2","/3","/4","/5","/6","/7","/8","/9","/10"] -> ValidationException
    ssm DeleteParameters Names=[] -> ValidationException
    ssm DeleteParameters Names=["/1","/2","/3","/4","/5","/6","/7","/8","/9","/10"] -> /InvalidParameters 10
    ssm DeleteParameters Names=["/0","/kibus/x"] -> /DeletedParameters/0 /kibus/x
    ssm DeleteParameters Names=["/0","/kibus/x"] -> /InvalidParameters 2
    ssm GetParameter Name=/kibus/x -> ParameterNotFound
    struck N7 -> 4
"##;
