//! A certificate authority of our own, so that both routers speak TLS to the stand-ins with their checks on.

use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

/// The certificates that the machine trusts; a function loads as many.
const SYSTEM: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Makes an acceptor for 127.0.0.1, and writes a bundle of roots that trusts it: those of the machine and our own.
pub fn acceptor(bundle: &Path) -> Result<TlsAcceptor, Box<dyn std::error::Error>> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    // With one name for both, the certificate would be taken for one that is signed by itself.
    params
        .distinguished_name
        .push(DnType::CommonName, "benchmark authority");
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
