import NIOCore

/// Looks in a change stream for what was read there before, or written there: no tasks, no connection.
///
/// The stream begins at a position that the server has confirmed, before what is looked for. When it comes past a position without
/// what the mark of the position says, the log is another one: the files of the server were put back to an older state, and it was
/// written to since.
struct LogContinuity: Sendable {
    /// What has not been seen yet.
    private var missing: [MarkedPosition]

    /// Begins to look.
    ///
    /// - Parameter required: What the stream must have.
    init(_ required: [MarkedPosition] = []) {
        missing = required
    }

    /// Whether the stream has shown everything that it must have.
    var isShown: Bool { missing.isEmpty }

    /// Takes a message.
    ///
    /// - Returns: A position that the stream has come past, and where it has something else.
    mutating func add(_ message: PgoutputMessage) -> MarkedPosition? {
        guard !missing.isEmpty else { return nil }
        switch message {
        case .begin(let commit, let time, _):
            // What is stored of a transaction that has not ended is known by the position after its commit record begins.
            let after = WALPosition(rawValue: commit.rawValue &+ 1)
            missing.removeAll { $0 == MarkedPosition(commit, of: time) || $0 == MarkedPosition(after, of: time) }
            return missing.first { $0.position <= commit }
        case .commit(_, let end, let time):
            missing.removeAll { $0 == MarkedPosition(end, of: time) }
        case .message(let message) where message.prefix == PostgresSource.markerPrefix:
            // The position of a marker is read after its commit.
            missing.removeAll { mark in
                message.position < mark.position
                    && message.content.readableBytesView.elementsEqual(MarkedPosition.digits(mark.mark).utf8)
            }
        default: break
        }
        return nil
    }
}
