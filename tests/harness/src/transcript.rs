//! What a command writes, in the order in which it writes it.
//!
//! Two pipes lose the order, and one pipe loses which stream a line belongs to. Here each stream is a datagram socket connected
//! to the same one, where a datagram arrives with the address of its sender.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram as Stream;
use std::process::Stdio;

use tempfile::TempDir;
use tokio::net::UnixDatagram;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The maximum size of a datagram, in bytes: by default, Linux sends no larger ones.
const LONGEST: usize = 256 * 1024;

/// A line without its line break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub is_error: bool,
    pub text: String,
}

/// The transcript of a running command.
pub struct Transcript {
    /// The lines so far.
    pub lines: watch::Receiver<Vec<Line>>,
    reader: JoinHandle<()>,
    end: Stream,
    _sockets: TempDir,
}

impl Transcript {
    /// A transcript, and the standard output and standard error of its command.
    pub fn open() -> (Self, Stdio, Stdio) {
        let sockets = TempDir::new().unwrap();
        let both = sockets.path().join("both");
        let reader = UnixDatagram::bind(&both).unwrap();
        let stream = |name| {
            let stream = Stream::bind(sockets.path().join(name)).unwrap();
            stream.connect(&both).unwrap();
            stream
        };
        let [output, error, end] = ["output", "error", "end"].map(stream);
        let (says, lines) = watch::channel(Vec::new());
        let transcript = Self { lines, reader: tokio::spawn(read(reader, says)), end, _sockets: sockets };
        (transcript, OwnedFd::from(output).into(), OwnedFd::from(error).into())
    }

    /// All lines, after the command has ended.
    pub async fn end(self) -> Vec<Line> {
        self.end.send(&[]).unwrap();
        self.reader.await.unwrap();
        self.lines.borrow().clone()
    }
}

async fn read(socket: UnixDatagram, lines: watch::Sender<Vec<Line>>) {
    let mut datagram = vec![0; LONGEST];
    // The rest of each stream after its last line break.
    let mut begun = [Vec::new(), Vec::new()];
    loop {
        let (length, sender) = socket.recv_from(&mut datagram).await.unwrap();
        let sender = sender.as_pathname().and_then(|path| path.file_name()).unwrap();
        let is_error = sender == "error";
        let begun_line = &mut begun[usize::from(is_error)];
        begun_line.extend_from_slice(&datagram[..length]);
        let is_end = sender == "end";
        while let Some(at) = begun_line.iter().position(|byte| *byte == b'\n') {
            let rest = begun_line.split_off(at + 1);
            push(&lines, is_error, std::mem::replace(begun_line, rest));
        }
        if is_end {
            let [output, error] = begun;
            [(false, output), (true, error)]
                .into_iter()
                .filter(|(_, line)| !line.is_empty())
                .for_each(|(is_error, line)| push(&lines, is_error, line));
            return;
        }
    }
}

fn push(lines: &watch::Sender<Vec<Line>>, is_error: bool, line: Vec<u8>) {
    let text = String::from_utf8(line).unwrap();
    let text = text.trim_end_matches('\n').to_owned();
    lines.send_modify(|lines| lines.push(Line { is_error, text }));
}
