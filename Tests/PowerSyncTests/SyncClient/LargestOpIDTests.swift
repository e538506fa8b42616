import NIOCore
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// Op ids up to the largest of 63 bits, and beyond.
@Suite(.timeLimit(.minutes(1))) struct LargestOpIDTests {
    private static let formats: [SyncLineFormat] = [.ndjson, .bson]
    private let harness = SyncHarness()

    private func connect(_ format: SyncLineFormat) async throws -> ScriptedStream {
        try await harness.connect()
        let stream = try await harness.service.nextStream()
        stream.accept(as: format)
        return stream
    }

    @Test(arguments: formats) func theLargestOpIDGoesAllTheWayAndBack(_ format: SyncLineFormat) async throws {
        let stream = try await connect(format)
        stream.send(
            .checkpoint(.max, [.bucket("a", count: 2)], writeCheckpoint: .max),
            .put("a", (.max - 1)...(.max)),
            .done
        )
        try await harness.wait { $0.hasSynced == true }
        #expect(try await harness.lists().keys.sorted() == ["a9223372036854775806", "a9223372036854775807"])
        let applied = try await harness.database.get("SELECT last_applied_op FROM ps_buckets") {
            try $0.getInt64(index: 0)
        }
        #expect(applied == .max)
        stream.end()
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        let next = try await harness.service.nextStream()
        #expect(next.request.buckets.map(\.after) == [.max])
        #expect(next.requestText.contains(#""after":"9223372036854775807""#))
        next.accept(as: format)
        // Nothing new, and still the same rows.
        next.send(.checkpoint(.max, [.bucket("a", count: 2)]), .done)
        try await next.waitUntilRead()
        #expect(try await harness.lists().count == 2)
    }

    /// Lines with a number of 64 bits.
    private static let beyond = [
        #"{"checkpoint":{"last_op_id":"9223372036854775808","buckets":[]}}"#,
        #"{"checkpoint_diff":{"last_op_id":"9223372036854775808","updated_buckets":[],"removed_buckets":[]}}"#,
        #"{"checkpoint":{"last_op_id":"1","write_checkpoint":"9223372036854775808","buckets":[]}}"#,
        #"{"data":{"bucket":"a","data":[{"op_id":"9223372036854775808","op":"CLEAR","checksum":0}]}}"#,
    ]

    @Test(arguments: formats, beyond) func whatDoesNotFitIsRefusedInWords(
        _ format: SyncLineFormat,
        _ line: String
    ) async throws {
        let stream = try await connect(format)
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await harness.wait { $0.hasSynced == true }
        stream.send(bytes: ByteBuffer(lines: [line], format))
        try await harness.wait { $0.lastDownloadError != nil && !$0.connected }
        let error = harness.database.currentStatus.downloadError.map { "\($0)" } ?? ""
        let member = line.contains("write") ? "'write_checkpoint'" : "op_id'"
        #expect(error.contains("\(member) has to be a string of decimal digits up to 2^63 - 1"), "\(error)")
        #expect(try await harness.lists() == ["a1": "remote"])
    }
}
