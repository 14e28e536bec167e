//! TLS, NKeys and credentials files, against real queue servers.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};
use mavis_testkit::{NatsServer, Program};
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa};
use serde_json::{Value, json};

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_mavis"))
}

fn is_in(mavis: &Program, config: &str) {
    let status = mavis.stdout(&format!("queue status --queue-config {config}"));
    assert!(status.contains("0 results"), "{status}");
}

/// A certificate for loopback and its key, signed by an authority, as files.
fn certify(mavis: &Program, authority: &CertifiedIssuer<'static, rcgen::KeyPair>, name: &str) {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    mavis.write(&format!("{name}.pem"), params.signed_by(&key, authority).unwrap().pem());
    mavis.write(&format!("{name}.key"), key.serialize_pem());
}

fn authority() -> CertifiedIssuer<'static, rcgen::KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, rcgen::KeyPair::generate().unwrap()).unwrap()
}

#[test]
fn certificates_are_checked_on_both_sides() {
    let mavis = program();
    let (ours, others) = (authority(), authority());
    mavis.write("ca.pem", ours.pem());
    mavis.write("other-ca.pem", others.pem());
    certify(&mavis, &ours, "server");
    certify(&mavis, &ours, "client");
    certify(&mavis, &others, "stranger");
    let file = |name: &str| mavis.folder().join(name).display().to_string();
    let tls = format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\", ca_file: \"{}\", verify: true }}",
        file("server.pem"),
        file("server.key"),
        file("ca.pem")
    );
    let server = NatsServer::start(&tls);
    let address = server.url().replace("nats://", "tls://");
    let config = |ca: &str, own: &str| {
        format!(
            "servers = ['{address}']\ntls = true\ntls_ca = '{ca}'\ntls_cert = '{own}.pem'\ntls_key = '{own}.key'\n"
        )
    };
    mavis.write("right.toml", config("ca.pem", "client"));
    is_in(&mavis, "right.toml");
    mavis.write("untrusted.toml", config("other-ca.pem", "client"));
    mavis.check_bad("queue status --queue-config untrusted.toml", "cannot connect");
    mavis.write("stranger.toml", config("ca.pem", "stranger"));
    mavis.check_bad("queue status --queue-config stranger.toml", "cannot connect");
    mavis.write("absent.toml", config("nowhere.pem", "client"));
    mavis.check_bad("queue status --queue-config absent.toml", "nowhere.pem");
    // Who insists on TLS does not talk to a server without it.
    let plain = NatsServer::start("");
    mavis.write("plain.toml", format!("servers = ['{}']\ntls = true\ntls_ca = 'ca.pem'\n", plain.url()));
    mavis.check_bad("queue status --queue-config plain.toml", "cannot connect");
}

#[test]
fn an_nkey_opens_the_queue_and_another_one_does_not() {
    let mavis = program();
    let (right, wrong) = (KeyPair::new_user(), KeyPair::new_user());
    let server =
        NatsServer::start(&format!("authorization {{ users: [ {{ nkey: {} }} ] }}", right.public_key()));
    for (name, key) in [("right", &right), ("wrong", &wrong)] {
        mavis.write(&format!("{name}.seed"), format!("{}\n", key.seed().unwrap()));
        mavis.write(
            &format!("{name}.toml"),
            format!("servers = ['{}']\nnkey_file = '{name}.seed'\n", server.url()),
        );
    }
    is_in(&mavis, "right.toml");
    mavis.check_bad("queue status --queue-config wrong.toml", "refused the credentials");
    mavis.write("right.seed", "no seed at all");
    mavis.check_bad("queue status --queue-config right.toml", "seed");
}

/// Claims in the form of NATS, signed by `issuer`.
fn signed(issuer: &KeyPair, subject: &KeyPair, name: &str, nats: Value) -> String {
    let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    let claims = json!({
        "jti": BASE32_NOPAD.encode(name.as_bytes()), "iat": 1_700_000_000, "iss": issuer.public_key(),
        "name": name, "sub": subject.public_key(), "nats": nats,
    });
    let text = format!("{}.{}", part(&json!({ "typ": "JWT", "alg": "ed25519-nkey" })), part(&claims));
    let signature = BASE64URL_NOPAD.encode(&issuer.sign(text.as_bytes()).unwrap());
    format!("{text}.{signature}")
}

#[test]
fn a_credentials_file_opens_the_queue_and_a_forged_one_does_not() {
    let mavis = program();
    let (operator, system, account) =
        (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_account());
    let limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1,
        "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1,
    });
    let account_claims = json!({ "type": "account", "version": 2, "limits": limits });
    let system_claims = json!({ "type": "account", "version": 2, "limits": {
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1,
    } });
    let operator_claims = json!({ "type": "operator", "version": 2, "system_account": system.public_key() });
    let server = NatsServer::start(&format!(
        "operator: {}\nresolver: MEMORY\nresolver_preload: {{\n{}: {}\n{}: {}\n}}\n",
        signed(&operator, &operator, "operator", operator_claims),
        account.public_key(),
        signed(&operator, &account, "mavis", account_claims),
        system.public_key(),
        signed(&operator, &system, "system", system_claims),
    ));
    let user_claims = json!({ "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1 });
    let forger = KeyPair::new_account();
    for (name, issuer) in [("right", &account), ("forged", &forger)] {
        let user = KeyPair::new_user();
        let token = signed(issuer, &user, name, user_claims.clone());
        let seed = user.seed().unwrap();
        mavis.write(
            &format!("{name}.creds"),
            format!(
                "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n\
                 -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
            ),
        );
        mavis.write(
            &format!("{name}.toml"),
            format!("servers = ['{}']\ncredentials = '{name}.creds'\n", server.url()),
        );
    }
    is_in(&mavis, "right.toml");
    mavis.check_bad("queue status --queue-config forged.toml", "refused the credentials");
    mavis.write("right.creds", "nothing");
    mavis.check_bad("queue status --queue-config right.toml", "credentials file right.creds");
}
