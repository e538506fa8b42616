import NIOCore
import PowerSyncProtocol
import TestSupport
import Testing

/// What only BSON has (docs/protocol.md "BSON").
@Suite struct BSONDecodingTests {
    /// A data line with one operation, made of given elements.
    private func dataLine(_ elements: [ByteBuffer]) -> ByteBuffer {
        let operation = TestBSON.element("0", type: 3, TestBSON.document(of: elements))
        let data = TestBSON.document(of: [
            TestBSON.element("bucket", "b"), TestBSON.element("data", type: 4, TestBSON.document(of: [operation])),
        ])
        return TestBSON.document(of: [TestBSON.element("data", type: 3, data)])
    }

    @Test
    func arrayIsNotAnObjectAlthoughBothAreDocuments() {
        let line = TestBSON.document(of: [TestBSON.element("checkpoint_complete", type: 4, TestBSON.document(of: []))])
        let error = #expect(throws: SyncLineError.self) { try SyncLine(bson: line) }
        #expect(error?.description.contains("an object") == true, "\(String(describing: error))")
    }

    private let required = [
        TestBSON.element("op_id", "1"), TestBSON.element("op", "PUT"), TestBSON.element("checksum", 1),
    ]

    private func operation(_ line: SyncLine) throws -> (DataLine, SyncOperation) {
        guard case .data(let data) = line else { throw SyncLineError.noMember }
        return (data, try #require(data.operations.first))
    }

    @Test(arguments: ["", "🥖", "a\0b", "\0"])
    func stringsAreDecodedExactly(text: String) throws {
        let line = try SyncLine(bson: dataLine(required + [TestBSON.element("data", .string(text))]))
        let (data, operation) = try operation(line)
        #expect(data.string(try #require(operation.data)) == text)
    }

    @Test(
        arguments: [
            (2, "00000000", .invalidStringLength(0)), (2, "ffffffff 00", .invalidStringLength(-1)),
            (2, "02000000 6162", .missingTerminator), (2, "ffffff7f 00", .truncated), (2, "03", .truncated),
            (2, "02000000 ff00", .invalidUTF8), (2, "04000000 eda080 00", .invalidUTF8),
            (99, "00", .unknownElementType(99)),
            (0, "", .unknownElementType(0)), (255, "", .unknownElementType(255)), (19, "", .unknownElementType(19)),
        ] as [(UInt8, String, BSONError.Reason)]
    )
    func malformedValuesAreErrors(type: UInt8, hex: String, reason: BSONError.Reason) {
        let element = TestBSON.element("data", type: type, ByteBuffer(hex: hex))
        let error = #expect(throws: SyncLineError.self) { try SyncLine(bson: dataLine(required + [element])) }
        guard case .bson(let error) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error.reason == reason)
        #expect(error.description.contains("byte \(error.offset)"))
    }

    @Test
    func unknownMembersOfEveryTypeAreSkipped() throws {
        let values: [(UInt8, String)] = [
            (1, "0000000000000840"), (2, "02000000 6100"), (3, "05000000 00"), (4, "05000000 00"),
            // The content of what is skipped is not looked at.
            (3, "08000000 636363 00"), (5, "03000000 00 010203"), (5, "00000000 80"), (6, ""),
            (7, "000102030405060708090a0b"), (8, "02"), (9, "0000000000000000"), (10, ""), (16, "00000000"),
            (17, "0000000000000000"), (18, "0000000000000000"), (2, "02000000 ff00"),
        ]
        let unknown = values.enumerated().map {
            TestBSON.element("x\($0.offset)", type: $0.element.0, ByteBuffer(hex: $0.element.1))
        }
        let plain = try SyncLine(bson: dataLine(required))
        #expect(try SyncLine(bson: dataLine(unknown + required)) == plain)
        #expect(try SyncLine(bson: dataLine(required + unknown)) == plain)
        #expect(try SyncLine(bson: dataLine([required[0]] + unknown + required[1...])) == plain)
        for (type, hex) in values {
            let element = TestBSON.element("anything", type: type, ByteBuffer(hex: hex))
            #expect(try SyncLine(bson: TestBSON.document(of: [element])) == .unknown(kind: "anything"))
        }
    }

    @Test(
        arguments: [
            // As long as one byte more than there is, which is the end of the document around it.
            (3, "06000000 00", .invalidDocumentLength(6)), (4, "06000000 00", .invalidDocumentLength(6)),
            (2, "02000000 61", .truncated), (5, "01000000 00", .truncated), (16, "000000", .truncated),
            (18, "00000000000000", .truncated), (17, "00000000000000", .truncated), (9, "00000000000000", .truncated),
            (1, "00000000000000", .truncated), (7, "0001020304050607080910", .truncated),
            (3, "04000000", .invalidDocumentLength(4)), (3, "ffffffff", .invalidDocumentLength(-1)),
            (4, "ffffff7f 00", .invalidDocumentLength(.max)), (3, "05000000 01", .missingTerminator),
            (5, "ffffffff 00", .invalidBinaryLength(-1)), (5, "ffffff7f 00", .truncated), (7, "0001", .truncated),
            (1, "00", .truncated), (2, "", .truncated), (3, "0500", .truncated), (8, "", .truncated),
        ] as [(UInt8, String, BSONError.Reason)]
    )
    func lengthsOfSkippedValuesAreChecked(type: UInt8, hex: String, reason: BSONError.Reason) {
        let element = TestBSON.element("x", type: type, ByteBuffer(hex: hex))
        let error = #expect(throws: SyncLineError.self) { try SyncLine(bson: TestBSON.document(of: [element])) }
        guard case .bson(let error) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error.reason == reason)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e19])
    func naNAndInfinity(checksum: Double) {
        let elements = [required[0], required[1], TestBSON.element("checksum", .double(checksum))]
        #expect(throws: SyncLineError.self) { try SyncLine(bson: dataLine(elements)) }
    }

    @Test func int64IsAcceptedWhereInt32IsUsual() throws {
        func int64(_ name: String, _ value: Int64) -> ByteBuffer {
            TestBSON.element(name, type: 18, ByteBuffer(integer: value, endianness: .little))
        }
        #expect(
            try SyncLine(bson: TestBSON.document(of: [int64("token_expires_in", 5)])) == .keepalive(tokenExpiresIn: 5)
        )
        #expect(throws: SyncLineError.self) {
            try SyncLine(bson: TestBSON.document(of: [int64("token_expires_in", .max)]))
        }
        let (_, operation) = try operation(
            SyncLine(bson: dataLine([required[0], required[1], int64("checksum", 4_294_967_295)]))
        )
        #expect(operation.checksum == Checksum(.max))
    }

    @Test func invalidBytesOfTextsAreFoundAtEveryOffset() {
        for length in 0..<20 {
            for suffix in [0, 1, 7, 8, 9] {
                let plain = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                let end = [UInt8](repeating: UInt8(ascii: "b"), count: suffix)
                for invalid in [[0x80], [0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0xa5]] as [[UInt8]] {
                    let text = plain + invalid + end
                    var value = ByteBuffer(integer: Int32(text.count + 1), endianness: .little)
                    value.writeBytes(text + [0])
                    let line = dataLine(required + [TestBSON.element("data", type: 2, value)])
                    #expect(throws: SyncLineError.self) { try SyncLine(bson: line) }
                }
            }
        }
    }

    @Test func textsAreDecodedAtEveryLength() throws {
        for length in 0..<20 {
            let text = String(repeating: "a", count: length) + "é🥖\u{ffff}\u{10ffff}"
            let line = try SyncLine(bson: dataLine(required + [TestBSON.element("data", .string(text))]))
            let (data, operation) = try operation(line)
            #expect(data.string(try #require(operation.data)) == text)
        }
    }

    @Test(arguments: [(0, false), (1, true), (2, true), (255, true)] as [(UInt8, Bool)])
    func everyBooleanButZeroIsTrue(byte: UInt8, value: Bool) throws {
        let data = TestBSON.document(of: [
            TestBSON.element("bucket", "b"), TestBSON.element("data", type: 4, TestBSON.document(of: [])),
            TestBSON.element("has_more", type: 8, ByteBuffer(integer: byte)),
        ])
        let line = try SyncLine(bson: TestBSON.document(of: [TestBSON.element("data", type: 3, data)]))
        #expect(line == .data(DataLine(bucket: BucketName("b"), hasMore: value)))
    }

    @Test func undefinedIsNull() throws {
        let (_, operation) = try operation(
            SyncLine(bson: dataLine(required + [TestBSON.element("data", type: 6, ByteBuffer())]))
        )
        #expect(operation.data == nil)
    }

    @Test func bytesAfterTheDocumentAreAnError() {
        var document = LineForm.bson.encode(.keepalive(tokenExpiresIn: 1))
        document.writeInteger(0 as UInt8)
        let error = #expect(throws: SyncLineError.self) { try SyncLine(bson: document) }
        #expect(error?.description == "sync line is not valid BSON: something follows after the document, at byte 27")
    }
}
