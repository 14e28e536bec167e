//! Ranks on threads that talk through sockets as processes would.

use super::*;
use std::net::{Ipv4Addr, SocketAddr};

const PATIENCE: Duration = Duration::from_secs(60);

fn hello(rank: usize, n_ranks: usize) -> Hello {
    Hello { rank, n_ranks, fingerprint: 7 }
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let place = listener.local_addr().unwrap();
    (listener, place)
}

/// A group of three, in order of rank.
fn group() -> Vec<SocketRank> {
    let (listener, place) = listen();
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..3)
            .map(|rank| scope.spawn(move || SocketRank::join(place, hello(rank, 3), PATIENCE)))
            .collect();
        let first = SocketRank::lead(&listener, hello(0, 3), PATIENCE, || Ok(()));
        let others = others.into_iter().map(|thread| thread.join().unwrap());
        std::iter::once(first).chain(others).collect::<Result<_, _>>().unwrap()
    })
}

/// What each rank makes of a closure, all at once.
fn each<T: Send>(ranks: Vec<SocketRank>, act: impl Fn(&SocketRank) -> T + Sync) -> Vec<T> {
    let act = &act;
    std::thread::scope(|scope| {
        let threads: Vec<_> = ranks.into_iter().map(|rank| scope.spawn(move || act(&rank))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn sockets_sum_as_threads_do_and_share_bytes() {
    let values = |rank: usize, round: usize| -> Vec<f32> {
        (0..1000).map(|at| 1.0 / (1.0 + (at * 7 + rank * 31 + round) as f32)).collect()
    };
    let rounds = |rank: &dyn AllReduce| -> Vec<Vec<f32>> {
        (0..5)
            .map(|round| {
                let mut buffer = values(rank.rank(), round);
                rank.sum(&mut buffer).unwrap();
                buffer
            })
            .collect()
    };
    let by_threads = std::thread::scope(|scope| {
        let ranks = super::super::ThreadRank::group(3).into_iter();
        let threads: Vec<_> = ranks.map(|rank| scope.spawn(move || rounds(&rank))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).next().unwrap()
    });
    let by_sockets = each(group(), |rank| {
        let mut bytes = vec![rank.rank() as u8; 3 + rank.rank()];
        rank.share(&mut bytes).unwrap();
        assert_eq!((bytes, rank.check()), (vec![0; 3], Ok(())));
        rounds(rank)
    });
    assert!(by_sockets.iter().all(|sums| *sums == by_threads), "bit for bit");
}

#[test]
fn everybody_hears_who_left() {
    let heard = each(group(), |rank| {
        rank.sum(&mut [1.0]).unwrap();
        // Rank 2 ends here, as a killed process would.
        if rank.rank() == 2 { Ok(()) } else { rank.sum(&mut [1.0; 2]).and_then(|()| rank.sum(&mut [1.0])) }
    });
    let left = Err(AllReduceError::RankLeft(2));
    assert_eq!(heard, [left.clone(), left, Ok(())]);
    let mut ranks = group();
    drop(ranks.remove(0));
    assert_eq!(ranks[0].check(), Err(AllReduceError::RankLeft(0)));
    assert_eq!(ranks[1].sum(&mut [1.0]), Err(AllReduceError::RankLeft(0)));
}

#[test]
fn unequal_lengths_end_the_group() {
    let heard = each(group(), |rank| rank.sum(&mut vec![1.0; 4 + rank.rank() / 2]));
    assert_eq!(heard[0], Err(AllReduceError::Length { expected: 4, got: 5 }));
    assert_eq!(heard[2], Err(AllReduceError::RankLeft(0)));
}

#[test]
fn strangers_are_told_and_do_not_count() {
    let (listener, place) = listen();
    std::thread::scope(|scope| {
        let first = scope.spawn(move || SocketRank::lead(&listener, hello(0, 2), PATIENCE, || Ok(())));
        let refused = |hello: Hello| SocketRank::join(place, hello, PATIENCE).err().unwrap().to_string();
        TcpStream::connect(place).unwrap().write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        assert!(refused(hello(1, 3)).contains("expects 2 ranks, this one 3"));
        assert!(refused(hello(2, 2)).contains("rank 2 is not one of 1 to 1"));
        assert!(refused(hello(0, 2)).contains("rank 0 is not one of"));
        assert!(refused(Hello { fingerprint: 8, ..hello(1, 2) }).contains("differ from those of rank 0"));
        let second = SocketRank::join(place, hello(1, 2), PATIENCE).unwrap();
        let first = first.join().unwrap().unwrap();
        assert_eq!((first.n_ranks(), second.rank()), (2, 1));
    });
}

#[test]
fn whoever_does_not_come_is_named() {
    let (listener, place) = listen();
    let missing = SocketRank::lead(&listener, hello(0, 3), Duration::ZERO, || Ok(())).err().unwrap();
    assert_eq!(missing.to_string(), "missing after 0 s: rank 1, 2");
    let gave_up = || Err(AllReduceError::RankLeft(1));
    assert_eq!(SocketRank::lead(&listener, hello(0, 3), PATIENCE, gave_up).err(), gave_up().err());
    drop(listener);
    let alone = SocketRank::join(place, hello(1, 3), Duration::ZERO).err().unwrap().to_string();
    assert!(alone.starts_with("rank 0 is not there after 0 s"), "{alone}");
}
