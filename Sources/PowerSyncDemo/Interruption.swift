import UnixSignals

/// The process was told to stop: Ctrl-C, or SIGTERM.
struct Interruption: Error {
    fileprivate let signal: UnixSignal

    /// What shells expect as the exit status.
    var exitStatus: Int32 { signal == .sigint ? 130 : 143 }
}

/// Takes the signals to stop from now on; those that come before ``stopping(_:)`` count, too.
struct Interruptions: Sendable {
    private let signals: UnixSignalsSequence

    init() async {
        signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
    }

    /// Runs an operation until it ends, or the process is told to stop; the operation is cancelled then, and waited for.
    ///
    /// - Parameter operation: What is run.
    /// - Throws: ``Interruption``, or the error of the operation.
    func stopping(_ operation: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await operation() }
            group.addTask {
                for await signal in signals { throw Interruption(signal: signal) }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
