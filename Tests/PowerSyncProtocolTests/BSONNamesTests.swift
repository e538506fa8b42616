import NIOCore
import PowerSyncProtocol
import TestSupport
import Testing

/// Names of members that no text is, and names that are only unknown.
@Suite struct BSONNamesTests {
    /// Where the member is.
    enum Level: CaseIterable {
        case line, payload, operation

        /// A data line with one more member.
        func line(with member: ByteBuffer) -> ByteBuffer {
            func members(_ level: Level, _ members: ByteBuffer...) -> ByteBuffer {
                TestBSON.document(of: level == self ? [member] + members : members)
            }
            let operation = members(
                .operation,
                TestBSON.element("op_id", "1"),
                TestBSON.element("op", "PUT"),
                TestBSON.element("checksum", 1)
            )
            let operations = TestBSON.document(of: [TestBSON.element("0", type: 3, operation)])
            let payload = members(
                .payload,
                TestBSON.element("bucket", "b"),
                TestBSON.element("data", type: 4, operations)
            )
            return members(.line, TestBSON.element("data", type: 3, payload))
        }
    }

    /// A null with a name of these bytes.
    private func member(_ name: [UInt8]) -> ByteBuffer {
        ByteBuffer(bytes: [10] + name + [0])
    }

    @Test(arguments: Level.allCases, [[0xff], [0x61, 0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf]] as [[UInt8]])
    func namesThatAreNotTextAreErrors(_ level: Level, _ name: [UInt8]) {
        let error = #expect(throws: SyncLineError.self) { try SyncLine(bson: level.line(with: member(name))) }
        guard case .bson(let error) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error.reason == .invalidUTF8)
    }

    @Test(arguments: [Level.payload, .operation], ["", "unknown", "größe", "🥖"])
    func unknownNamesAreIgnored(_ level: Level, _ name: String) throws {
        let line = try SyncLine(bson: level.line(with: member(Array(name.utf8))))
        guard case .data(let data) = line else {
            Issue.record("\(line)")
            return
        }
        #expect(data.operations.map(\.opID) == [OpID(1)])
    }
}
