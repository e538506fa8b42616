/// When a file that is looked at now and then has to be read; no I/O.
///
/// ```
///            another stamp               the same stamp again: read
///  settled ────────────────► changing ──────────────────────────────► settled
///     │                       │   ▲ another stamp                        ▲
///     └────────► missing ◄────┘   └── (changing)                         │
///    report once    └───────────────────► changing ─────────────────────┘
/// ```
///
/// A file is read when it was left alone for one interval: editors and deployments write in several steps.
struct WatchedFileState<Stamp: Equatable> {
    /// What to do after a look.
    enum Action: Equatable {
        case none
        /// Read the file: it is another one, and was not written since the last look.
        case read
        /// Say that the file is gone.
        case reportMissing
    }

    private enum State {
        /// What is in the file is known; `nil` before it was looked at.
        case settled(Stamp?)
        /// The file was written.
        case changing(Stamp)
        /// There is no file.
        case missing
    }

    private var state: State

    /// Begins with what is known already; `nil` when nothing is.
    init(known stamp: Stamp? = nil) {
        state = .settled(stamp)
    }

    /// The file was looked at.
    mutating func didLook(_ stamp: Stamp?) -> Action {
        guard let stamp else {
            if case .missing = state { return .none }
            state = .missing
            return .reportMissing
        }
        switch state {
        case .settled(stamp): return .none
        case .changing(stamp):
            state = .settled(stamp)
            return .read
        case .settled, .changing, .missing:
            state = .changing(stamp)
            return .none
        }
    }

    /// What is in the file could not be taken up, and is tried again; a file that is gone, when it is there again.
    mutating func didFail() {
        if case .missing = state { return }
        state = .settled(nil)
    }
}
