import NIOConcurrencyHelpers

/// Which part of the app's code a call is in: a transport of ours calls closures of the app, and the closure is what a message has to name.
final class AttachmentCallPart: Sendable {
    /// The part that the current task is in.
    @TaskLocal static var current: AttachmentCallPart?

    private let names: NIOLockedValueBox<[String]>
    private let overdue = NIOLockedValueBox(false)

    /// Begins with the method that the queue calls.
    init(_ name: String) {
        names = NIOLockedValueBox([name])
    }

    /// Whether the call was cancelled because it has reached its limit: what it returns counts nevertheless.
    var isOverdue: Bool { overdue.withLockedValue { $0 } }

    /// The call was cancelled because it has reached its limit.
    func becameOverdue() {
        overdue.withLockedValue { $0 = true }
    }

    /// The innermost part, then what it is called by: `resolveUpload in upload`.
    var name: String { names.withLockedValue { $0.reversed().joined(separator: " in ") } }

    /// Names a closure of the app while it runs.
    static func named<Value: Sendable>(_ name: String, _ body: () async throws -> Value) async rethrows -> Value {
        guard let part = current else { return try await body() }
        part.names.withLockedValue { $0.append(name) }
        defer { part.names.withLockedValue { _ = $0.popLast() } }
        return try await body()
    }
}
