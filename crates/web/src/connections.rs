//! The server on a socket.

use crate::WebSettings;
use axum::{Router, extract::ConnectInfo};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use mavis_search::Cancel;
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::Semaphore};

/// Time for a request's head to arrive.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);

/// Serves on a listener until `stop` is cancelled, on a runtime of its own. The bundled model is loaded meanwhile.
///
/// # Errors
/// When there is no runtime, or the listener fails.
pub fn run(settings: WebSettings, listener: std::net::TcpListener, stop: &Cancel) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let served = runtime.block_on(async {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let most = settings.limits.connections;
        let shared = crate::share(settings);
        let warm = shared.clone();
        tokio::task::spawn_blocking(move || warm.pool.warm_up());
        serve(listener, crate::router(shared), most, stop).await
    });
    // Searches that did not hear of the end yet are not waited for.
    runtime.shutdown_timeout(Duration::from_millis(300));
    served
}

/// Serves a router on a listener until `stop` is cancelled. Connections beyond `most` wait.
///
/// A client that does not finish its request's head within ten seconds is dropped.
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener, app: Router, most: usize, stop: &Cancel) -> std::io::Result<()> {
    let room = Arc::new(Semaphore::new(most));
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &room) => accepted,
            () = stop.cancelled() => return Ok(()),
        };
        let (stream, address, permit) = match accepted {
            Ok(accepted) => accepted,
            // Out of file handles, or a client that left at once: the next one may do better.
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let app = app.clone().layer(axum::Extension(ConnectInfo(address)));
        let stop = stop.clone();
        tokio::spawn(async move {
            let _permit = permit;
            let mut builder = hyper::server::conn::http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
            let serving = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(app));
            tokio::select! {
                served = serving => {
                    if let Err(error) = served {
                        tracing::debug!(%error, "a connection broke off");
                    }
                }
                () = stop.cancelled() => {}
            }
        });
    }
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> std::io::Result<(tokio::net::TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(room).acquire_owned().await.map_err(std::io::Error::other)?;
    let (stream, address) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, address, permit))
}
