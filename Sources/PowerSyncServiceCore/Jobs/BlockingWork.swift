import Dispatch

/// Work that waits for a file or a lock: opening a database, taking a snapshot of one, looking at files.
///
/// Swift has as many threads for tasks as the machine has cores: one that waits for a disk carries on no stream meanwhile. What is
/// run here waits on a thread of Dispatch, which has others.
package enum BlockingWork {
    /// Does work on a thread that may wait.
    ///
    /// - Parameter work: It is carried out also when the task is cancelled, so it should be short.
    /// - Returns: The result of `work`.
    /// - Throws: What `work` throws.
    package static func run<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                do {
                    continuation.resume(returning: try work())
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }
}
