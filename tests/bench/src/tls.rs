//! A private certificate authority, so that both routers use TLS with all checks to reach the local servers.

use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

/// The root certificates of the machine. A function in Lambda loads about as many.
const SYSTEM: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Makes a TLS acceptor for 127.0.0.1, and writes a bundle with the root certificates of the machine and the private
/// authority.
pub fn acceptor(bundle: &Path) -> Result<TlsAcceptor, Box<dyn std::error::Error>> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    // If both had the same name, the certificate would count as self-signed.
    params.distinguished_name.push(DnType::CommonName, "benchmark authority");
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let names = ["127.0.0.1".to_owned(), "localhost".to_owned()];
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "benchmark services");
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(&key, &authority)?;
    let system = std::fs::read_to_string(SYSTEM).unwrap_or_default();
    std::fs::write(bundle, format!("{system}\n{}", authority.pem()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
        )?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
