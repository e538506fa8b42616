import NIOCore
import PowerSyncProtocol
import Testing

/// How long a line may be (docs/protocol.md "Lines").
@Suite struct SyncLineLengthTests {
    @Test
    func linesOfMoreBytesThanTheLimitAreNotLookedAtWhoeverHasMadeThem() {
        let count = SyncLineFormat.maximumLineLength + 1
        let spaces = ByteBuffer(repeating: UInt8(ascii: " "), count: count)
        #expect(throws: SyncLineError.tooLong(byteCount: count)) { try SyncLine(json: spaces) }
        #expect(throws: SyncLineError.tooLong(byteCount: count)) { try SyncLine(bson: spaces) }
    }

    @Test
    func linesOfAsManyBytesAsTheLimitAreLookedAt() {
        let spaces = ByteBuffer(repeating: UInt8(ascii: " "), count: SyncLineFormat.maximumLineLength)
        let error = #expect(throws: SyncLineError.self) { try SyncLine(bson: spaces) }
        guard case .bson(let error) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error.reason == .invalidDocumentLength(0x2020_2020))
    }
}
