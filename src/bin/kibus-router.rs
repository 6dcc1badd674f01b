//! The function: see [`kibus::router`].

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    kibus::router::run().await
}
