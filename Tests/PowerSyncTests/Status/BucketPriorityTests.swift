import Foundation
import Testing

@testable import PowerSyncClient

@Suite struct BucketPriorityTests {
    @Test func lowerCodeIsGreater() {
        #expect(max(BucketPriority(0), BucketPriority(3)).priorityCode == 0)
        #expect(BucketPriority(0) > BucketPriority(3))
        #expect(BucketPriority.fullSyncPriority < BucketPriority.defaultPriority)
    }

    @Test func isEncodedAsABareInteger() throws {
        let data = try JSONEncoder().encode([BucketPriority(2)])
        #expect(String(decoding: data, as: UTF8.self) == "[2]")
        #expect(try JSONDecoder().decode([BucketPriority].self, from: data) == [BucketPriority(2)])
    }

    @Test func negativeCodeFromOutsideIsAnError() {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([BucketPriority].self, from: Data("[-1]".utf8))
        }
    }

    @Test func entryIsDecodedFromMicroseconds() throws {
        let json = #"{"priority":1,"last_synced_at":1700000000500000,"has_synced":true}"#
        let entry = try JSONDecoder().decode(PriorityStatusEntry.self, from: Data(json.utf8))
        #expect(entry.priority == BucketPriority(1))
        #expect(entry.lastSyncedAt == Date(timeIntervalSince1970: 1_700_000_000.5))
        #expect(entry.hasSynced == true)
    }
}
