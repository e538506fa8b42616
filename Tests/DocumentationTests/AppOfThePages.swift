import Foundation
import PowerSync

// What stands for the app in the code of the pages.

/// The app's own session with its backend.
protocol AppSession: Sendable {
    func syncToken() async throws -> String
    func token() async throws -> String
}

/// The app's own backend.
protocol AppBackend: Sendable {
    func apply(_ entries: [CrudEntry]) async throws
    func recalculate() async throws -> Int
}

/// What the app's backend answers when something is wrong.
struct BackendError: Error {
    var isPermanent: Bool
    var message: String
}

/// A row of the app.
struct Todo: Codable, Identifiable, Equatable {
    var id: String
    var title: String
    var done: Bool
    var due: Date?
    var tags: [String]
}

/// What the user sees.
func show(_ text: String) {}

/// What the app writes to its log.
func log(_ text: String) {}
