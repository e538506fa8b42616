import NIOCore
import PowerSyncProtocol
import TestSupport
import Testing

/// What lines may look like, and what they may not (docs/protocol.md "Lines").
@Suite struct SyncLineDecodingTests {
    private static let lists = BucketName("1#lists|0[\"u1\"]")

    // MARK: Documents

    @Test(
        arguments: [
            ("1b00000010746f6b656e5f657870697265735f696e001900000000", .keepalive(tokenExpiresIn: 25)),
            (
                "22000000036675747572655f6c696e65001000000012610001000000000000000000",
                .unknown(kind: "future_line")
            ),
            (
                "3100000003636865636b706f696e745f636f6d706c6574650017000000026c6173745f6f705f6964000200000037000000",
                .checkpointComplete(CheckpointComplete(lastOpID: OpID(7)))
            ),
            (
                "47000000037061727469616c5f636865636b706f696e745f636f6d706c6574650025000000026c6173745f6f705f6964"
                    + "00020000003700107072696f7269747900010000000000",
                .partialCheckpointComplete(PartialCheckpointComplete(lastOpID: OpID(7), priority: Priority(1)))
            ),
            (
                "da00000003636865636b706f696e7400c9000000026c6173745f6f705f696400020000003700046275636b657473006d00"
                    + "000003300065000000026275636b65740004000000675b5d0010636865636b73756d000500000010636f756e740002"
                    + "000000107072696f72697479000100000004737562736372697074696f6e73001a00000003300012000000106465"
                    + "6661756c740000000000000000000473747265616d7300330000000330002b000000026e616d650002000000670008"
                    + "69735f64656661756c740001046572726f727300050000000000000000",
                .checkpoint(
                    Checkpoint(
                        lastOpID: OpID(7),
                        buckets: [
                            BucketDescription(
                                name: BucketName("g[]"),
                                checksum: Checksum(5),
                                priority: Priority(1),
                                count: 2,
                                reasons: [.defaultStream(0)]
                            )
                        ],
                        streams: [StreamDescription(name: "g", isDefault: true)]
                    )
                )
            ),
            (
                "6400000003636865636b706f696e745f64696666004e000000026c6173745f6f705f69640002000000390004757064617465"
                    + "645f6275636b6574730005000000000472656d6f7665645f6275636b657473001000000002300004000000675b5d"
                    + "00000000",
                .checkpointDiff(CheckpointDiff(lastOpID: OpID(9), removedBuckets: [BucketName("g[]")]))
            ),
        ] as [(String, SyncLine)]
    )
    func documentsOfAnOfficialService(hex: String, line: SyncLine) throws {
        let document = ByteBuffer(hex: hex)
        #expect(try SyncLine(bson: document) == line)
        // The same without its last byte, and without any number of bytes.
        for length in 0..<document.readableBytes {
            #expect(throws: SyncLineError.self) { try SyncLine(bson: document.prefix(length)) }
        }
    }

    @Test
    func dataLineWithAChecksumThatIsADouble() throws {
        let document = ByteBuffer(
            hex:
                "cc000000036461746100c1000000026275636b65740004000000675b5d00086861735f6d6f7265000002616674657200020000"
                + "003000026e6578745f6166746572000200000037000464617461007c00000003300074000000026f705f69640002000000"
                + "3700026f70000400000050555400026f626a6563745f7479706500020000007400026f626a6563745f6964000200000061"
                + "0001636865636b73756d000000e0f0e69fea41027375626b657900020000006b00026461746100080000007b2278223a31"
                + "7d0000000000"
        )
        let data = try dataLine(SyncLine(bson: document))
        let operation = try #require(data.operations.first)
        #expect(data.bucket == BucketName("g[]"))
        #expect(data.after == OpID(0) && data.nextAfter == OpID(7) && !data.hasMore)
        #expect(operation.opID == OpID(7) && operation.kind == .put)
        #expect(operation.checksum == Checksum(3_573_495_687) && operation.checksum.signed == -721_471_609)
        #expect(try #require(operation.objectType).string(in: data) == "t")
        #expect(try #require(operation.objectID).string(in: data) == "a")
        #expect(try #require(operation.subkey).string(in: data) == "k")
        #expect(try #require(operation.data).string(in: data) == #"{"x":1}"#)
        // The document's own bytes, not a copy.
        #expect(data.text == document)
    }

    private func dataLine(_ line: SyncLine) throws -> DataLine {
        guard case .data(let data) = line else { throw UnexpectedLine(line: line) }
        return data
    }

    private struct UnexpectedLine: Error {
        let line: SyncLine
    }

    // MARK: Lines in both forms

    @Test(
        arguments: LineForm.allCases,
        [
            ("", #"{"token_expires_in":123}"#, .keepalive(tokenExpiresIn: 123)),
            ("", #"{"token_expires_in":-1}"#, .keepalive(tokenExpiresIn: -1)),
            ("", #"{"foo":123}"#, .unknown(kind: "foo")),
            ("", #"{"foo":{"a":[1,2.5,"x",null,true,{}]}}"#, .unknown(kind: "foo")),
            ("", #"{"checkpoint_complete":{}}"#, .checkpointComplete(CheckpointComplete(lastOpID: nil))),
            (
                "informational members of the wrong type",
                #"{"checkpoint_complete":{"last_op_id":5}}"#, .checkpointComplete(CheckpointComplete(lastOpID: nil))
            ),
            (
                "", #"{"data":{"bucket":"b","data":[],"after":7,"next_after":{},"has_more":"x"}}"#,
                .data(DataLine(bucket: BucketName("b")))
            ),
            (
                "", #"{"checkpoint":{"last_op_id":"9223372036854775807","buckets":[]}}"#,
                .checkpoint(Checkpoint(lastOpID: .max))
            ),
            (
                "null and absent are the same",
                #"{"checkpoint":{"streams":null,"buckets":[],"write_checkpoint":null,"last_op_id":"0"}}"#,
                .checkpoint(Checkpoint(lastOpID: .zero))
            ),
            (
                "", #"{"checkpoint_diff":{"last_op_id":"1","updated_buckets":[],"removed_buckets":[]}}"#,
                .checkpointDiff(CheckpointDiff(lastOpID: OpID(1)))
            ),
            (
                "streams in a diff",
                #"{"checkpoint_diff":{"last_op_id":"1","updated_buckets":[],"removed_buckets":["foo\""],"streams":7}}"#,
                .checkpointDiff(CheckpointDiff(lastOpID: OpID(1), removedBuckets: [BucketName("foo\"")]))
            ),
            (
                "no stream errors",
                #"{"checkpoint":{"last_op_id":"1","buckets":[],"#
                    + #""streams":[{"name":"s","is_default":true,"errors":null}]}}"#,
                .checkpoint(
                    Checkpoint(lastOpID: OpID(1), streams: [StreamDescription(name: "s", isDefault: true)])
                )
            ),
            (
                "stream errors",
                #"{"checkpoint":{"last_op_id":"1","buckets":[],"streams":[{"name":"s","is_default":false,"errors":[{"#
                    + #""subscription":1,"message":"m"},{"subscription":"default","message":"n"},{"message":"o","#
                    + #""subscription":"x"}]},{"is_default":true,"name":"t"}]}}"#,
                .checkpoint(
                    Checkpoint(
                        lastOpID: OpID(1),
                        streams: [
                            StreamDescription(
                                name: "s",
                                isDefault: false,
                                errors: [
                                    StreamError(subject: .subscription(1), message: "m"),
                                    StreamError(subject: .defaultSubscription, message: "n"),
                                    StreamError(subject: .defaultSubscription, message: "o"),
                                ]
                            ),
                            StreamDescription(name: "t", isDefault: true),
                        ]
                    )
                )
            ),
        ] as [(String, String, SyncLine)]
    )
    func linesAreDecoded(form: LineForm, expected: (id: String, json: String, line: SyncLine)) throws {
        #expect(try form.decode(expected.json) == expected.line, "\(expected.id)")
    }

    @Test(
        arguments: LineForm.allCases,
        [
            ("", ["checksum": 0], BucketDescription(name: lists, checksum: .zero)),
            ("", ["checksum": 0, "priority": nil], BucketDescription(name: lists, checksum: .zero)),
            (
                "", ["checksum": 0, "priority": 4],
                BucketDescription(name: lists, checksum: .zero, priority: Priority(4))
            ),
            (
                "largest priority", ["checksum": 0, "priority": 2_147_483_646],
                BucketDescription(name: lists, checksum: .zero, priority: Priority(2_147_483_646))
            ),
            ("", ["checksum": 0, "count": nil], BucketDescription(name: lists, checksum: .zero)),
            (
                "counts have 64 bits", ["checksum": 0, "count": 9_223_372_036_854_775_807],
                BucketDescription(name: lists, checksum: .zero, count: .max)
            ),
            (
                "counts of JavaScript services", ["checksum": 0, "count": 4_294_967_296.0],
                BucketDescription(name: lists, checksum: .zero, count: 4_294_967_296)
            ),
            (
                "", ["checksum": 0, "subscriptions": [["sub": 99], ["default": 0]]],
                BucketDescription(name: lists, checksum: .zero, reasons: [.subscription(99), .defaultStream(0)])
            ),
            ("", ["checksum": 0, "subscriptions": nil], BucketDescription(name: lists, checksum: .zero)),
            ("", ["checksum": -1], BucketDescription(name: lists, checksum: Checksum(.max))),
            ("", ["checksum": -1.0], BucketDescription(name: lists, checksum: Checksum(.max))),
            ("", ["checksum": 3_573_495_687], BucketDescription(name: lists, checksum: Checksum(3_573_495_687))),
            ("", ["checksum": 3_573_495_687.0], BucketDescription(name: lists, checksum: Checksum(3_573_495_687))),
            ("", ["checksum": -721_471_609.0], BucketDescription(name: lists, checksum: Checksum(3_573_495_687))),
        ] as [(String, JSONObject, BucketDescription)]
    )
    func bucketDescriptionsAreDecoded(
        form: LineForm,
        expected: (id: String, members: JSONObject, bucket: BucketDescription)
    ) throws {
        let line = try form.decode(checkpoint(with: expected.members))
        #expect(line == .checkpoint(Checkpoint(lastOpID: OpID(1), buckets: [expected.bucket])), "\(expected.id)")
    }

    /// The text of a checkpoint with one bucket.
    private func checkpoint(with members: JSONObject) -> String {
        var bucket = members
        if bucket["bucket"] == nil { bucket["bucket"] = .string(Self.lists.rawValue) }
        return ExactJSON.object(["checkpoint": ["last_op_id": "1", "buckets": [.object(bucket)]]]).text
    }

    // MARK: Protocol errors

    @Test(
        arguments: LineForm.allCases,
        [
            #"{"foo":{},"bar":{}}"#, "{}", #"{"token_expires_in":1,"x":1}"#,
            #"{"token_expires_in":1.5}"#, #"{"token_expires_in":2147483648}"#,
            #"{"token_expires_in":"1"}"#, #"{"token_expires_in":null}"#,
            #"{"checkpoint":{"last_op_id":"9223372036854775808","buckets":[]}}"#,
            #"{"checkpoint":{"last_op_id":"x","buckets":[]}}"#,
            #"{"checkpoint":{"last_op_id":"","buckets":[]}}"#,
            #"{"checkpoint":{"last_op_id":"-1","buckets":[]}}"#,
            #"{"checkpoint":{"last_op_id":5,"buckets":[]}}"#, #"{"checkpoint":{"buckets":[]}}"#,
            #"{"checkpoint":{"last_op_id":"1"}}"#, #"{"checkpoint":{"last_op_id":"1","buckets":null}}"#,
            #"{"checkpoint":{"last_op_id":"1","buckets":{}}}"#, #"{"checkpoint":[]}"#,
            #"{"checkpoint":null}"#,
            #"{"checkpoint":{"last_op_id":"1","buckets":[],"write_checkpoint":1}}"#,
            #"{"checkpoint":{"last_op_id":"1","buckets":[],"streams":[{"name":"s"}]}}"#,
            #"{"checkpoint":{"last_op_id":"1","buckets":[],"streams":[{"is_default":true}]}}"#,
            #"{"checkpoint":{"last_op_id":"1","buckets":[],"streams":[{"name":"s","is_default":1}]}}"#,
            #"{"checkpoint_diff":{"last_op_id":"1","updated_buckets":[]}}"#,
            #"{"checkpoint_diff":{"last_op_id":"1","removed_buckets":[]}}"#,
            #"{"checkpoint_diff":{"last_op_id":"1","updated_buckets":[],"removed_buckets":[1]}}"#,
            #"{"checkpoint_complete":1}"#, #"{"partial_checkpoint_complete":{"last_op_id":"1"}}"#,
            #"{"partial_checkpoint_complete":{"priority":-1}}"#,
            #"{"partial_checkpoint_complete":{"priority":1.5}}"#,
            #"{"data":{"data":[]}}"#, #"{"data":{"bucket":"b"}}"#,
            #"{"data":{"bucket":1,"data":[]}}"#,
            #"{"data":{"bucket":"b","data":{}}}"#, #"{"data":{"bucket":"b","data":[1]}}"#,
            #"{"data":{"bucket":"b","data":null}}"#,
        ]
    )
    func malformedLinesAreErrors(form: LineForm, json: String) {
        let error = #expect(throws: SyncLineError.self) { try form.decode(json) }
        #expect(error?.description.isEmpty == false)
    }

    @Test(
        arguments: LineForm.allCases,
        [
            ["checksum": nil], ["checksum": "1"], ["checksum": 1.5],
            ["checksum": 4_294_967_296], ["checksum": -2_147_483_649], [:],
            ["checksum": 1e300], ["checksum": 0, "priority": -1],
            ["checksum": 0, "priority": 2_147_483_647], ["checksum": 0, "priority": 1.5],
            ["checksum": 0, "priority": "1"], ["checksum": 0, "count": 1.5],
            ["checksum": 0, "count": "1"],
            ["checksum": 0, "subscriptions": [["other": 1]]], ["checksum": 0, "subscriptions": [[:]]],
            ["checksum": 0, "subscriptions": [["sub": 1, "default": 1]]],
            ["checksum": 0, "subscriptions": [["sub": -1]]],
            ["checksum": 0, "subscriptions": [["sub": "0"]]],
            ["checksum": 0, "subscriptions": 1], ["checksum": 0, "bucket": 1],
        ] as [JSONObject]
    )
    func malformedBucketDescriptionsAreErrors(form: LineForm, members: JSONObject) {
        #expect(throws: SyncLineError.self, "\(members.text)") { try form.decode(checkpoint(with: members)) }
    }

    @Test(arguments: LineForm.allCases)
    func malformedOperationsAreErrors(form: LineForm) throws {
        let valid: JSONObject = ["op_id": "1", "op": "PUT", "checksum": 1]
        let changes: [(String, ExactJSON?)] = [
            ("op", "PATCH"), ("op", "put"), ("op", nil), ("op", 1), ("op", .null), ("data", ["x": 1]), ("data", 1),
            ("checksum", nil), ("checksum", .null), ("checksum", "1"), ("op_id", "x"), ("op_id", nil), ("op_id", 1),
            ("object_type", 1), ("object_id", []), ("subkey", 1),
        ]
        for (name, value) in changes {
            var operation = valid
            operation[name] = value
            let line: ExactJSON = ["data": ["bucket": "b", "data": [.object(valid), .object(operation)]]]
            #expect(throws: SyncLineError.self, "\(name): \(String(describing: value))") { try form.decode(line.text) }
        }
    }

    @Test(arguments: ["[]", #""data""#, #"{"data":"#, "", "1", "null", #"{"token_expires_in":1}x"#, "{'a':1}"])
    func textsThatAreNotObjectsAreErrors(json: String) {
        #expect(throws: SyncLineError.self) { try SyncLine(json: ByteBuffer(string: json)) }
    }

    @Test(arguments: LineForm.allCases)
    func aLineWithASecondMemberSaysSo(form: LineForm) {
        let error = #expect(throws: SyncLineError.self) {
            try form.decode(#"{"token_expires_in":1,"checkpoint_complete":{}}"#)
        }
        #expect(error == .severalMembers)
    }

    @Test func errorsNameTheMemberAndItsPlace() {
        let json = #"{"data":{"bucket":"b","data":[{"op_id":"1","op":"PUT","checksum":"1"}]}}"#
        let error = #expect(throws: SyncLineError.self) { try LineForm.json.decode(json) }
        #expect(error == .invalidMember("checksum", expected: "a whole number", offset: 65))
        #expect(error?.description == "sync line: 'checksum' has to be a whole number, at byte 65")
        let missing = #expect(throws: SyncLineError.self) { try LineForm.bson.decode(#"{"data":{"bucket":"b"}}"#) }
        #expect(missing == .missingMember("data", of: "data"))
    }

    // MARK: Details of the encodings

    @Test func namesAndTextsInJSONMayBeEscaped() throws {
        let json =
            #"{"\u0064ata":{"buck\u0065t":"\u0062","data":[{"op_\u0069d":"\u0031","op":"\u0050UT","checksum":1,"data":"{\"a\":\"\\u00e9\"}"}]}}"#
        let data = try dataLine(SyncLine(json: ByteBuffer(string: json)))
        #expect(data.bucket == BucketName("b"))
        #expect(data.operations.first?.opID == OpID(1))
        #expect(try #require(data.operations.first?.data).string(in: data) == #"{"a":"\u00e9"}"#)
    }

    @Test(arguments: LineForm.allCases)
    func theLastOfEqualMembersCounts(form: LineForm) throws {
        // Written by hand, since the JSON parser keeps one member of each name.
        let operation = #"{"op_id":"1","op":"MOVE","checksum":1}"#
        let json = #"{"data":{"bucket":"a","data":[\#(operation)],"bucket":"b","data":[]}}"#
        let line: SyncLine
        switch form {
        case .json: line = try SyncLine(json: ByteBuffer(string: json))
        case .bson:
            let elements: [(String, ExactJSON)] = [
                ("bucket", "a"), ("data", [try ExactJSON(parsing: operation)]), ("bucket", "b"), ("data", []),
            ]
            let data = TestBSON.document(of: elements.map { TestBSON.element($0.0, $0.1) })
            line = try SyncLine(bson: TestBSON.document(of: [TestBSON.element("data", type: 3, data)]))
        }
        #expect(line == .data(DataLine(bucket: BucketName("b"))))
    }

    @Test(arguments: LineForm.allCases)
    func longNamesAreCutOffInMessages(form: LineForm) {
        for (length, shown) in [(64, 64), (65, 64), (200, 64)] {
            let name = String(repeating: "n", count: length)
            let error = #expect(throws: SyncLineError.self) {
                try form.decode(checkpoint(with: ["checksum": 0, "subscriptions": [.object([name: 1])]]))
            }
            let description = error?.description ?? ""
            #expect(description.contains(String(repeating: "n", count: shown)))
            #expect(description.contains(String(repeating: "n", count: shown + 1)) == false)
            #expect(description.contains("…") == (length > 64))
        }
    }

    @Test(arguments: LineForm.allCases)
    func transcriptKUnknownMembersEverywhere(form: LineForm) throws {
        func extended(_ value: ExactJSON, isLine: Bool) -> ExactJSON {
            switch value {
            case .object(let object):
                var members = object.members.map {
                    JSONObject.Member(name: $0.name, value: extended($0.value, isLine: false))
                }
                // Lines and the reasons for a bucket have exactly one member.
                if !isLine, object["sub"] == nil, object["default"] == nil {
                    members.insert(.init(name: "before", value: [1, "x", nil]), at: 0)
                    members.append(.init(name: "extra", value: ["a": [1], "b": 2.5]))
                }
                return .object(JSONObject(members: members))
            case .array(let elements): return .array(elements.map { extended($0, isLine: false) })
            default: return value
            }
        }
        for transcript in Transcript.allCases {
            for line in transcript.lines {
                let json = try ExactJSON(parsing: line)
                #expect(try form.decode(extended(json, isLine: true).text) == form.decode(line))
            }
        }
    }
}

extension TextRange {
    fileprivate func string(in line: DataLine) -> String { line.string(self) }
}
