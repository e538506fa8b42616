import Foundation
import NIOConcurrencyHelpers
import PowerSyncCore

/// Notices when a user connects while local writes of another one wait for their upload.
///
/// Users are told apart by the subject of their tokens, which the service checks and this does not. The file keeps a hash of it,
/// see ``QueueOwner``.
final class WriterWatch: Sendable {
    private let database: LocalDatabase
    /// The user of the newest token that has one, and whether another user's writes wait.
    private let guarded = NIOLockedValueBox<(user: String?, isForeign: Bool)>((nil, false))

    /// Creates the watch of a connection.
    init(database: LocalDatabase) {
        self.database = database
    }

    /// Compares the user of a token with the user that has written what waits.
    ///
    /// - Parameter token: The token that is used from now on. Nothing is compared when it is no JWT or has no `sub`.
    /// - Returns: How many writes of another user wait; 0 when such writes have waited and do not any more; `nil` when nothing is new.
    /// - Throws: When the database cannot be read or written, or `CancellationError`: the next token is compared.
    func tokenIsUsed(_ token: String) async throws -> Int? {
        guard let subject = Self.subject(of: token) else { return nil }
        let (user, isOwned) = try await database.read { db in
            let user = Seed.hash(ofUser: subject, salt: try KeyValueStore.clientID(db))
            return (user, try QueueOwner.isOwned(db, by: user))
        }
        let waiting = isOwned ? 0 : try await database.write { try QueueOwner.claim($0, for: user) }
        return guarded.withLockedValue { guarded in
            let before = guarded
            guarded = (user, waiting > 0)
            guard guarded.isForeign else { return before.isForeign ? 0 : nil }
            return before.isForeign && before.user == user ? nil : waiting
        }
    }

    /// The upload queue was empty: what comes is the connected user's.
    ///
    /// - Returns: 0 when writes of another user have waited; `nil` when nothing is new.
    /// - Throws: When the database cannot be written, or `CancellationError`.
    func queueIsEmpty() async throws -> Int? {
        guard let user = guarded.withLockedValue({ $0.isForeign ? $0.user : nil }),
            try await database.write({ try QueueOwner.claim($0, for: user) }) == 0
        else { return nil }
        return guarded.withLockedValue { guarded in
            guard guarded.user == user else { return nil }
            guarded.isForeign = false
            return 0
        }
    }

    /// The `sub` of a token; `nil` when the token is no JWT, or has no `sub` that is a text.
    static func subject(of token: String) -> String? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var base64 = String(parts[1]).replacing("-", with: "+").replacing("_", with: "/")
        base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        guard let json = Data(base64Encoded: base64) else { return nil }
        let claims = try? JSONSerialization.jsonObject(with: json) as? [String: Any]
        return claims?["sub"] as? String
    }
}
