import NIOConcurrencyHelpers

/// A connection of a source on which rows are read by their keys, as one state of the database shows them.
package protocol RowView: Sendable {
    /// Whether it is to be closed when it is idle.
    var isOld: Bool { get }

    /// Ends the state, and keeps the connection.
    mutating func release() async throws

    /// Closes the connection.
    func close()
}

/// Keeps the view that rows were read of last for the next call, since a newer state would need newer checkpoints.
package final class KeptRowView<View: RowView>: Sendable {
    private struct State {
        var kept: View?
        /// How many calls read, or end the state of the view that was kept.
        var users = 0
    }

    private let state = NIOLockedValueBox(State())

    /// Creates a place without a view.
    package init() {}

    /// Whether there is a view, in use or for the next call.
    package var hasView: Bool { state.withLockedValue { $0.kept != nil || $0.users > 0 } }

    /// Whether there is a view for the next call that fulfils a condition.
    package func keeps(_ condition: (View) -> Bool) -> Bool {
        state.withLockedValue { $0.kept.map(condition) ?? false }
    }

    /// Runs `body` with the view that was kept, or with another one, and keeps the view if `body` returns.
    ///
    /// - Parameters:
    ///   - open: Opens another one: when there is none, and when `body` fails with the kept one because its connection is gone.
    ///   - isGone: Whether an error says that.
    ///   - body: Reads.
    /// - Returns: What `body` returns.
    /// - Throws: What `open` and `body` throw, and `CancellationError`.
    package func reading<Result>(
        opening open: () async throws -> View,
        orIf isGone: (any Error) -> Bool,
        _ body: (inout View) async throws -> Result
    ) async throws -> Result {
        state.withLockedValue { $0.users += 1 }
        defer { state.withLockedValue { $0.users -= 1 } }
        if let view = take() {
            do {
                return try await run(body, view)
            } catch let error where isGone(error) {
                // The server has closed it since.
                try Task.checkCancellation()
            }
        }
        return try await run(body, try await open())
    }

    /// Ends the state of the view that is kept.
    ///
    /// - Throws: `CancellationError`.
    package func release() async throws {
        let taken = state.withLockedValue { state -> View? in
            guard let view = state.kept else { return nil }
            state.kept = nil
            state.users += 1
            return view
        }
        guard var view = taken else { return }
        defer { state.withLockedValue { $0.users -= 1 } }
        do {
            try await view.release()
            keep(view)
        } catch {
            // The next rows are read of another one.
            view.close()
            try Task.checkCancellation()
        }
    }

    /// Closes the view that is kept.
    package func end() {
        take()?.close()
    }

    /// Closes the view that is kept if it is old.
    package func endIfOld() {
        let old = state.withLockedValue { state -> View? in
            guard let view = state.kept, view.isOld else { return nil }
            state.kept = nil
            return view
        }
        old?.close()
    }

    private func run<Result>(
        _ body: (inout View) async throws -> Result,
        _ view: View
    ) async throws -> Result {
        var view = view
        do {
            let result = try await body(&view)
            keep(view)
            return result
        } catch {
            view.close()
            throw error
        }
    }

    private func take() -> View? {
        state.withLockedValue { state in
            defer { state.kept = nil }
            return state.kept
        }
    }

    private func keep(_ view: View) {
        let other = state.withLockedValue { state in
            defer { state.kept = view }
            return state.kept
        }
        other?.close()
    }
}
