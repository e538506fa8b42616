import PowerSyncAuth
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// The first rows of a client that syncs for the first time now, with the token of its user.
struct RowsOfUser: Codable, Sendable, Equatable {
    /// A row.
    struct Row: Codable, Sendable, Equatable {
        /// The table on the client.
        var table: String
        /// The id.
        var id: String
        /// The other columns, as JSON text.
        var data: String
    }

    /// The first rows, by table and id.
    var rows: [Row]
    /// How many rows there are.
    var total: Int

    /// The most rows that are shown.
    static let maximumRows = 100
    /// The most operations of which rows are read.
    static let maximumOperations: Int64 = 10_000

    /// More operations than ``maximumOperations``.
    struct TooMany: Error {
        let operations: Int64
    }

    /// Reads the rows.
    ///
    /// - Parameters:
    ///   - token: The token that the user has been given by the backend, checked.
    ///   - request: The parameters and subscriptions of the client.
    ///   - environment: What sessions share.
    /// - Throws: ``TooMany``, or an error of the storage.
    init(
        of token: VerifiedToken,
        _ request: StreamingSyncRequest,
        environment: SyncSession.Environment
    ) async throws {
        let candidate = try await SyncSession.firstCandidate(for: request, token: token, environment)
        let operations = candidate.buckets.reduce(0) { $0 + (candidate.checksums[$1.name]?.count ?? 0) }
        guard operations <= Self.maximumOperations else { throw TooMany(operations: Int64(operations)) }
        let live = try await LiveRows(
            of: candidate.buckets.map(\.name),
            at: candidate.checkpoint,
            keepsData: true,
            environment
        ).rows
        rows = live.prefix(Self.maximumRows).map { Row(table: $0.table, id: $0.id, data: $0.data) }
        total = live.count
    }
}
