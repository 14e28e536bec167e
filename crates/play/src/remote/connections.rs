//! Connections to servers, plain or over TLS, which are kept open.

use super::servers::{RemoteError, ServerSettings};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use std::{path::Path, sync::Arc};

/// Everything that speaks HTTP for us.
pub(super) type Connections = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Connections as the settings want them; certificates are looked for only where a server needs them.
pub(super) fn open(settings: &ServerSettings, secure: bool) -> Result<Connections, RemoteError> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(settings.patience));
    connector.enforce_http(false);
    let roots = if secure { trusted(settings.ca.as_deref())? } else { RootCertStore::empty() };
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| RemoteError::Certificates(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(connector);
    Ok(Client::builder(TokioExecutor::new()).build(connector))
}

/// Whom we trust: the system's authorities, found as OpenSSL finds them, and those of a file.
fn trusted(file: Option<&Path>) -> Result<RootCertStore, RemoteError> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    // A system has certificates of all ages; those that cannot be read cannot be trusted either.
    roots.add_parsable_certificates(system.certs);
    if let Some(path) = file {
        let bad = |reason: String| RemoteError::Certificates(format!("{}: {reason}", path.display()));
        let own = CertificateDer::pem_file_iter(path).map_err(|error| bad(error.to_string()))?;
        let own: Vec<_> = own.collect::<Result<_, _>>().map_err(|error| bad(error.to_string()))?;
        if roots.add_parsable_certificates(own).0 == 0 {
            return Err(bad("no certificate in it".to_owned()));
        }
    }
    if roots.is_empty() {
        let reason =
            system.errors.first().map_or_else(|| "the system has none".to_owned(), ToString::to_string);
        return Err(RemoteError::Certificates(format!(
            "{reason}; name a file of them (ca=FILE or SSL_CERT_FILE)"
        )));
    }
    Ok(roots)
}
