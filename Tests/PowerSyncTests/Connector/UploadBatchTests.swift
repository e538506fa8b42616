import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite struct UploadBatchTests {
    @Test func theBytesOfAllTransactionsCount() async throws {
        let backend = ScriptedBackend()
        try await backend.insert(["a"], ["b"])
        func next(_ maximumBytes: Int) async throws -> UploadBatch {
            let batch = try await UploadBatch.next(
                of: backend.database,
                maximumEntries: 100,
                maximumBytes: maximumBytes
            )
            return try #require(batch)
        }
        let bytes = try await next(1 << 20).entries.reduce(0) { $0 + $1.json.text.utf8.count + 1 }
        #expect(try await next(bytes).entries.map(\.id) == ["a", "b"])
        #expect(try await next(bytes - 1).entries.map(\.id) == ["a"])
        try await backend.database.close()
    }
}
