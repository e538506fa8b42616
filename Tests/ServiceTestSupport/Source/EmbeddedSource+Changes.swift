package import PowerSyncServiceCore
package import PowerSyncServiceSQLite
import PowerSyncSyncConfig

extension EmbeddedSource {
    /// Reads the changes of tables that have just been described.
    package func withChanges<Result>(
        of handle: String,
        after position: SourcePosition,
        tables: [SourceTableDescriptor],
        _ body: (inout any ChangeReader) async throws -> Result
    ) async throws -> Result {
        try await withChanges(
            of: handle,
            after: position,
            tables: tables.map { SourceTable(id: $0.relationID, descriptor: $0) },
            plan: .empty,
            body
        )
    }
}
