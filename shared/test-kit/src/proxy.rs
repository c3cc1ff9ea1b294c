use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// A TCP relay in front of a server, which can be cut and healed: the server goes on, its clients
/// lose it.
#[derive(Debug, Clone)]
pub struct Proxy {
    address: std::net::SocketAddr,
    /// Cancelled: cut. All connections of one period hang on the same token.
    open: Arc<Mutex<CancellationToken>>,
}

impl Proxy {
    /// Starts a relay to `target` (host:port).
    ///
    /// # Errors
    /// No port is free.
    pub async fn start(target: String) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let open = Arc::new(Mutex::new(CancellationToken::new()));
        let proxy = Self { address, open };
        let acceptor = proxy.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let open = acceptor.token();
                let target = target.clone();
                tokio::spawn(open.run_until_cancelled_owned(relay(client, target)));
            }
        });
        Ok(proxy)
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> std::net::SocketAddr {
        self.address
    }

    /// Ends all connections, and every new one at once.
    pub fn cut(&self) {
        self.token().cancel();
    }

    /// Lets connections through again.
    pub fn heal(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = CancellationToken::new();
    }

    fn token(&self) -> CancellationToken {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn relay(mut client: TcpStream, target: String) {
    if let Ok(mut server) = TcpStream::connect(target).await {
        let _ = copy_bidirectional(&mut client, &mut server).await;
    }
}
