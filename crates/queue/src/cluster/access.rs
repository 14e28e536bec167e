//! Where the queue is and who we are there.

use crate::QueueError;
use async_nats::{Client, ConnectErrorKind, ConnectOptions};
use std::path::PathBuf;
use std::time::Duration;

/// Addresses and credentials. Not printable, since it holds secrets.
#[derive(Clone, Default)]
pub struct Access {
    /// Servers, `nats://host:4222` or `tls://host:4222`; any of them will do.
    pub servers: Vec<String>,
    /// User name.
    pub user: Option<String>,
    /// The user's password.
    pub password: Option<String>,
    /// A token, where the server wants one instead of a user.
    pub token: Option<String>,
    /// The seed of an NKey, which signs the server's challenge and is not sent.
    pub nkey: Option<String>,
    /// A credentials file of NATS (JWT and NKey).
    pub credentials: Option<PathBuf>,
    /// Certificates that the servers' ones are signed by, in PEM; the system's if absent.
    pub tls_ca: Option<PathBuf>,
    /// Our own certificate and its key, in PEM, where servers ask for one.
    pub tls_identity: Option<(PathBuf, PathBuf)>,
    /// Refuse servers without TLS.
    pub tls: bool,
}

impl Access {
    /// Access to one or several addresses, separated by commas, without credentials.
    #[must_use]
    pub fn to(servers: &str) -> Self {
        let servers = servers.split(',').map(|server| server.trim().to_owned()).collect();
        Self { servers, ..Self::default() }
    }

    /// The addresses as text, without credentials that a URL may hold.
    #[must_use]
    pub fn addresses(&self) -> String {
        let plain = |server: &String| match server.split_once('@') {
            Some((before, host)) => match before.split_once("://") {
                Some((scheme, _)) => format!("{scheme}://{host}"),
                None => host.to_owned(),
            },
            None => server.clone(),
        };
        self.servers.iter().map(plain).collect::<Vec<_>>().join(",")
    }

    /// Names the file that cannot be read, which an error of the connection does not.
    fn check_files(&self) -> Result<(), QueueError> {
        let own = self.tls_identity.iter().flat_map(|(certificate, key)| [certificate, key]);
        for path in self.tls_ca.iter().chain(own) {
            std::fs::File::open(path).map_err(|error| {
                QueueError::Settings(format!("certificate or key {}: {error}", path.display()))
            })?;
        }
        Ok(())
    }

    pub(super) async fn connect(&self) -> Result<Client, QueueError> {
        let connect = |reason: String| QueueError::Connect { servers: self.addresses(), reason };
        self.check_files()?;
        let mut options = ConnectOptions::new()
            .name("mavis")
            .connection_timeout(Duration::from_secs(10))
            // A server that goes away without a word is noticed after two of them.
            .ping_interval(Duration::from_secs(5))
            .request_timeout(Some(Duration::from_secs(5)));
        if let (Some(user), Some(password)) = (&self.user, &self.password) {
            options = options.user_and_password(user.clone(), password.clone());
        }
        if let Some(token) = &self.token {
            options = options.token(token.clone());
        }
        if let Some(seed) = &self.nkey {
            let seed = seed.trim();
            // Without the seed itself in the message.
            nkeys::KeyPair::from_seed(seed)
                .map_err(|error| QueueError::Settings(format!("the seed of the NKey is no seed: {error}")))?;
            options = options.nkey(seed.to_owned());
        }
        if let Some(path) = &self.credentials {
            let read = options.credentials_file(path).await;
            options = read.map_err(|error| {
                QueueError::Settings(format!("credentials file {}: {error}", path.display()))
            })?;
        }
        if let Some(path) = &self.tls_ca {
            options = options.add_root_certificates(path.clone());
        }
        if let Some((certificate, key)) = &self.tls_identity {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        options = options.require_tls(self.tls);
        let servers: Result<Vec<async_nats::ServerAddr>, _> =
            self.servers.iter().map(|server| server.parse()).collect();
        let servers = servers.map_err(|error: std::io::Error| connect(error.to_string()))?;
        options.connect(servers).await.map_err(|error| {
            let mut reason = error.to_string();
            if let Some(source) = std::error::Error::source(&error)
                && !reason.contains(&source.to_string())
            {
                reason = format!("{reason}: {source}");
            }
            match error.kind() {
                ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                    QueueError::Refused { servers: self.addresses(), reason }
                }
                _ => connect(reason),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_passwords() {
        let access = Access::to("nats://me:secret@one:4222, tls://two:4222");
        assert_eq!(access.addresses(), "nats://one:4222,tls://two:4222");
    }
}
