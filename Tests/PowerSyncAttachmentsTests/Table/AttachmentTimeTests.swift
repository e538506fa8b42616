import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// The times of attachments.
@Suite struct AttachmentTimeTests {
    @Test(
        arguments: [
            (1_700_000_000.0009, 1_700_000_000_000), (-0.0019, -1), (0, 0), (.nan, 0), (.infinity, .max),
            (-.infinity, .min), (1e300, .max), (-1e300, .min), (9.3e15, .max),
        ] as [(Double, Int64)]
    )
    func areTheNearestOnesThatTheTableCanHold(seconds: Double, milliseconds: Int64) {
        #expect(Date(timeIntervalSince1970: seconds).millisecondsSince1970 == milliseconds)
    }

    @Test(arguments: [.min, -1, 0, 1 << 40, .max] as [Int64])
    func surviveARoundTripAtTheEndsOfTheirRange(time: Int64) async throws {
        try await AttachmentRows.with { rows in
            let row = Attachment.row("a", .synced, hasSynced: true).with(timestamp: time)
            try await rows.insert(row)
            #expect(try await rows.all() == ["a": row])
            #expect(row.timestamp == Int(clamping: time))
        }
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func mayComeFromAClockThatTellsNonsense(seconds: Double) async throws {
        try await QueueHarness.run(remote: ["a.jpg": "abc"]) { harness, queue in
            harness.date.withLockedValue { $0 = Date(timeIntervalSince1970: seconds) }
            try await queue.startSync()
            try await harness.link("a")
            try await harness.wait(for: "a", .synced)
        }
    }
}
