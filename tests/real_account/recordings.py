"""Answers of AWS in files, without what nobody else should see. tests/harness/src/recorded.rs describes the format."""

import json
import re


def clean(text, secrets):
    """A text without these secrets, account ids, credentials, receipt handles, unique ids, and names of principals."""
    for secret, instead in secrets.items():
        text = text.replace(secret, instead)
    members = "AccessKeyId|SecretAccessKey|SessionToken|ReceiptHandle"
    text = re.sub(rf"(<(?:{members})>)[^<]*", r"\1removed", text)
    text = re.sub(rf'("(?:{members})": ?")[^"]*', r"\1removed", text)
    text = re.sub(r'(:user/|:assumed-role/|:federated-user/)[^ "<,\\]*', r"\1someone", text)
    # IAM percent-encodes documents.
    begins, ends = r"(?:(?<=%[0-9A-F]{2})|(?<![0-9A-Za-z]))", r"(?![0-9A-Za-z])"
    text = re.sub(rf"{begins}\d{{12}}{ends}", "111122223333", text)
    # The prefixes of ids of keys, roles and users (IAM user guide, "Understanding unique ID prefixes").
    return re.sub(rf"{begins}A(?:IDA|KIA|ROA|SIA)[A-Z0-9]{{12,}}{ends}", "removed", text)


def write(run, rows, seen, directory):
    """Writes the file of an observation."""
    secrets = {run.bus: "kibus-rt-00000000"}
    keys = run.session.get_credentials().get_frozen_credentials()
    # A key id of an emulator may be the account, or a word.
    secrets |= {key: "removed" for key in [keys.access_key, keys.secret_key, keys.token] if key and len(key) > 12}
    recording = {
        "format": 1,
        "rows": rows,
        "place": "an emulator" if run.client("sts").meta.endpoint_url.startswith("http://") else f"AWS, {run.region}",
        "seen": [clean(line, secrets) for line in seen],
        "answers": [{**answer, "body": clean(answer["body"], secrets)} for answer in run.answers],
    }
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{'-'.join(rows)}.json").write_text(json.dumps(recording, indent=2, ensure_ascii=False) + "\n")
