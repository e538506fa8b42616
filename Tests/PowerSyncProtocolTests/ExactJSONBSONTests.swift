import NIOCore
import PowerSyncProtocol
import TestSupport
import Testing

/// Requests as BSON documents.
@Suite struct ExactJSONBSONTests {
    @Test func documentsBecomeObjects() throws {
        let object: JSONObject = [
            "text": "a\u{0}🥖", "number": 5, "large": 5_000_000_000, "half": 0.5, "yes": true, "no": false,
            "nothing": nil, "list": [1, "b", [], ["c": nil]], "inner": ["a": ["b": 1]],
        ]
        #expect(try ExactJSON(bson: TestBSON.document(object)) == .object(object))
    }

    @Test(
        arguments: [
            ("0500000001", .missingTerminator), ("05000000 00 00", .trailingBytes),
            ("04000000", .invalidDocumentLength(4)),
            ("10000000 01 6100 000000000000f07f 00", .notJSON), ("10000000 09 6100 0000000000000000 00", .notJSON),
            ("07000000 0a 61 00", .truncated), ("08000000 02 61 00 00", .truncated),
            ("08000000 0a ff 00 00", .invalidUTF8), ("", .truncated),
        ] as [(String, BSONError.Reason)]
    )
    func whatIsNotJSONIsRefused(_ hex: String, reason: BSONError.Reason) throws {
        let error = #expect(throws: BSONError.self) { try ExactJSON(bson: ByteBuffer(hex: hex)) }
        #expect(error?.reason == reason)
    }

    @Test(arguments: [(128, true), (129, false), (100_000, false)])
    func nestingIsLimited(depth: Int, isAccepted: Bool) throws {
        var document = ByteBuffer()
        for level in 1...depth {
            // Every document but the innermost has 8 bytes around the next one: length, type, name and the end.
            let inner = depth - level
            document.writeInteger(Int32(5 + inner * 8), endianness: .little)
            if inner > 0 { document.writeBytes([3, UInt8(ascii: "a"), 0]) }
        }
        document.writeRepeatingByte(0, count: depth)
        if isAccepted {
            _ = try ExactJSON(bson: document)
        } else {
            let error = #expect(throws: BSONError.self) { try ExactJSON(bson: document) }
            #expect(error?.reason == .nestingTooDeep)
        }
    }

    @Test(arguments: [(127, true), (128, false)])
    func nestingOfArraysIsLimited(depth: Int, isAccepted: Bool) throws {
        var list = TestBSON.document(of: [])
        for _ in 1..<depth { list = TestBSON.document(of: [TestBSON.element("0", type: 4, list)]) }
        let document = TestBSON.document(of: [TestBSON.element("a", type: 4, list)])
        if isAccepted {
            _ = try ExactJSON(bson: document)
        } else {
            let error = #expect(throws: BSONError.self) { try ExactJSON(bson: document) }
            #expect(error?.reason == .nestingTooDeep)
        }
    }

    @Test func theLastOfEqualNamesCounts() throws {
        let document = TestBSON.document(of: [
            TestBSON.element("client_id", "a"), TestBSON.element("raw_data", true), TestBSON.element("client_id", "b"),
        ])
        #expect(try StreamingSyncRequest(bson: document).clientID == "b")
    }

    @Test func aRequestIsReadAsFromJSON() throws {
        let body: JSONObject = [
            "buckets": [["name": "a[]", "after": "7"]], "client_id": "c1", "raw_data": true, "parameters": ["x": 1],
        ]
        let request = try StreamingSyncRequest(bson: TestBSON.document(body))
        #expect(request == (try StreamingSyncRequest(json: ByteBuffer(string: body.text))))
        #expect(throws: RequestValidationError.self) {
            try StreamingSyncRequest(bson: TestBSON.document(["buckets": 5]))
        }
        #expect(throws: RequestValidationError.self) { try StreamingSyncRequest(bson: ByteBuffer(string: "x")) }
    }
}
