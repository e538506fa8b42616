import Dispatch
import PowerSyncClient

/// Runs file operations on threads that may block.
///
/// The cooperative threads of tasks are as many as the processor has cores: one that waits for a disk is missing
/// everywhere.
enum FileWork {
    /// The most bytes that are read or written in one go.
    static let chunkSize = 256 * 1024

    /// Runs a body off the cooperative threads.
    ///
    /// It runs to its end, even if the task is cancelled.
    static func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<T, any Error>) in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try body() })
            }
        }
    }
}
