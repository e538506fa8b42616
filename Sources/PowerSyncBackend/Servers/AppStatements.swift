/// The statements that the app's decision runs, between those of a ``ServerUpload``.
package struct AppStatements: Sendable {
    let prepare: @Sendable (_ changes: Bool) async throws -> Void
    let hasFailed: @Sendable (any Error) async -> Void

    /// Runs a statement after the rows that are not written yet.
    ///
    /// An error ends the request even if the app does not pass it on: what the server has rolled back with it is not known.
    ///
    /// - Parameters:
    ///   - changes: Whether it may change rows.
    ///   - statement: Runs it.
    /// - Returns: What the closure returns.
    /// - Throws: What the closure throws, errors of the server.
    package func run<Result: Sendable>(changes: Bool, _ statement: () async throws -> Result) async throws -> Result {
        do {
            try await prepare(changes)
            return try await statement()
        } catch {
            await hasFailed(error)
            throw error
        }
    }
}
