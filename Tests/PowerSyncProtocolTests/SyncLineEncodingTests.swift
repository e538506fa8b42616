import NIOCore
import PowerSyncProtocol
import Testing

@Suite struct SyncLineEncodingTests {
    /// Readers that look elements of arrays up by name find all of them.
    @Test func elementsOfArraysAreNumbered() {
        let buckets = (0..<12).map { BucketDescription(name: BucketName("b\($0)"), checksum: Checksum(0)) }
        let line = SyncLine.checkpoint(Checkpoint(lastOpID: OpID(3), buckets: buckets))
        var bytes = ByteBuffer()
        line.encode(as: .bson, into: &bytes)
        let text = String(decoding: bytes.readableBytesView, as: Unicode.ASCII.self)
        // An element is its type, 3 for a document, and its name with a zero.
        #expect((0..<12).allSatisfy { text.contains("\u{3}\($0)\0") })
    }

    /// The same line as JSON and as BSON.
    @Test(
        arguments: [
            (
                #"{"token_expires_in":20}"#,
                "1b00000010746f6b656e5f657870697265735f696e001400000000"
            ),
            (
                #"{"checkpoint_complete":{"last_op_id":"5"}}"#,
                "3100000003636865636b706f696e745f636f6d706c6574650017000000026c6173745f6f705f69640002000000350000"
                    + "00"
            ),
            (
                #"{"partial_checkpoint_complete":{"last_op_id":"5","priority":1}}"#,
                "47000000037061727469616c5f636865636b706f696e745f636f6d706c6574650025000000026c6173745f6f705f6964"
                    + "00020000003500107072696f7269747900010000000000"
            ),
            (
                #"{"checkpoint":{"last_op_id":"2","buckets":[{"bucket":"1#notes|0[]","count":2,"checksum":-117348751,"priority":3,"subscriptions":[{"default":0}]}],"streams":[{"name":"notes","is_default":true,"errors":[]}]}}"#,
                "e600000003636865636b706f696e7400d5000000026c6173745f6f705f696400020000003200046275636b6574730075"
                    + "0000000330006d000000026275636b6574000c00000031236e6f7465737c305b5d0010636f756e740002000000106368"
                    + "65636b73756d00716601f9107072696f72697479000300000004737562736372697074696f6e73001a00000003300012"
                    + "0000001064656661756c740000000000000000000473747265616d7300370000000330002f000000026e616d65000600"
                    + "00006e6f746573000869735f64656661756c740001046572726f727300050000000000000000"
            ),
            (
                #"{"data":{"bucket":"1#notes|0[]","after":"0","has_more":false,"data":[{"op_id":"1","op":"PUT","object_type":"notes","object_id":"n1","checksum":943991771,"subkey":"s-n1","data":"{\"id\":\"n1\",\"body\":\"v1\"}"}],"next_after":"1"}}"#,
                "e8000000036461746100dd000000026275636b6574000c00000031236e6f7465737c305b5d0002616674657200020000"
                    + "003000086861735f6d6f726500000464617461009000000003300088000000026f705f696400020000003100026f7000"
                    + "0400000050555400026f626a6563745f7479706500060000006e6f74657300026f626a6563745f696400030000006e31"
                    + "0010636865636b73756d00db2b4438027375626b65790005000000732d6e3100026461746100180000007b226964223a"
                    + "226e31222c22626f6479223a227631227d000000026e6578745f6166746572000200000031000000"
            ),
            (
                #"{"data":{"bucket":"1#todos|0[\"l1\"]","after":"4","has_more":false,"data":[{"op_id":"5","op":"REMOVE","object_type":"todos","object_id":"t1","checksum":2453380030,"subkey":"s-t1","data":null}],"next_after":"5"}}"#,
                "d7000000036461746100cc000000026275636b657400100000003123746f646f737c305b226c31225d00026166746572"
                    + "00020000003400086861735f6d6f726500000464617461007b00000003300073000000026f705f696400020000003500"
                    + "026f70000700000052454d4f564500026f626a6563745f747970650006000000746f646f7300026f626a6563745f6964"
                    + "000300000074310001636865636b73756d000000c0777347e241027375626b65790005000000732d7431000a64617461"
                    + "000000026e6578745f6166746572000200000035000000"
            ),
        ])
    func linesAreWrittenByteForByteLikeTheEstablishedService(json: String, hex: String) throws {
        let document = ByteBuffer(hex: hex)
        let line = try SyncLine(json: ByteBuffer(string: json))
        #expect(try SyncLine(bson: document) == line)
        #expect(LineForm.bson.encode(line) == document)
        #expect(LineForm.json.encode(line).text == json + "\n")
    }

    @Test(arguments: Transcript.allCases)
    func transcriptsAreReproducedByteForByte(transcript: Transcript) throws {
        for json in transcript.lines {
            // The checksum of an operation is written unsigned; both forms are the same 32 bits.
            let expected = json.replacing(
                #""op":"CLEAR","checksum":-117348751"#,
                with: #""op":"CLEAR","checksum":4177618545"#
            )
            #expect(try LineForm.json.encode(SyncLine(json: ByteBuffer(string: json))).text == expected + "\n")
        }
    }

    @Test(
        arguments: [
            (2_147_483_647, "10", "ffffff7f"), (2_147_483_648, "01", "000000000000e041"),
            (4_294_967_295, "01", "0000e0ffffffef41"), (0, "10", "00000000"),
        ] as [(UInt32, String, String)]
    )
    func checksumsOfOperationsAreInt32OrElseDouble(checksum: UInt32, type: String, value: String) {
        var data = DataLine(bucket: BucketName("b"))
        data.append(.move, opID: OpID(1), checksum: Checksum(checksum))
        let bytes = LineForm.bson.encode(.data(data))
        let element = Array(ByteBuffer(hex: type + "636865636b73756d00" + value).readableBytesView)
        #expect(bytes.readableBytesView.firstRange(of: element) != nil)
    }

    @Test func checksumsOfBucketsAreSigned() {
        let bucket = BucketDescription(name: BucketName("b"), checksum: Checksum(.max))
        let line = SyncLine.checkpointDiff(CheckpointDiff(lastOpID: OpID(1), updatedBuckets: [bucket]))
        #expect(LineForm.json.encode(line).text.contains(#""checksum":-1,"#))
        let element = Array(ByteBuffer(hex: "10636865636b73756d00ffffffff").readableBytesView)
        #expect(LineForm.bson.encode(line).readableBytesView.firstRange(of: element) != nil)
    }

    @Test(arguments: [true, false])
    func lineBreaksOfOtherReadersAreEscaped(rawData: Bool) throws {
        var data = DataLine(bucket: BucketName("b\u{2028}"))
        let row = "{\"t\":\"a\u{85}b\u{2028}c\u{2029}d\u{2030}\u{84}é🥖\"}"
        data.append(.put, opID: OpID(1), checksum: Checksum(1), objectType: "t", objectID: "i\u{2029}", data: row)
        var buffer = ByteBuffer()
        SyncLine.data(data).encode(as: .ndjson, rawData: rawData, into: &buffer)
        let text = buffer.text
        #expect(!text.unicodeScalars.contains { ["\u{85}", "\u{2028}", "\u{2029}"].contains($0) })
        #expect(text.contains(#"a\u0085b\u2028c\u2029d"#))
        #expect(text.contains("é🥖"))
        guard rawData else {
            let line = try JSONObject(parsing: text)
            guard case .object(let payload) = line["data"], case .array(let operations) = payload["data"],
                case .object(let operation) = operations.first
            else {
                Issue.record("\(text)")
                return
            }
            #expect(try operation["data"] == .object(JSONObject(parsing: row)))
            return
        }
        #expect(try SyncLine(json: buffer) == .data(data))
    }

    @Test func rowsThatAreObjectsStayOnOneLine() {
        var data = DataLine(bucket: BucketName("b"))
        data.append(.put, opID: OpID(1), checksum: .zero, data: "{\n\"a\":\r\n1}")
        var buffer = ByteBuffer()
        SyncLine.data(data).encode(as: .ndjson, rawData: false, into: &buffer)
        #expect(buffer.text.hasSuffix("\"data\":{ \"a\":  1}}]}}\n"))
        #expect(buffer.readableBytesView.count { $0 == UInt8(ascii: "\n") } == 1)
    }

    @Test(arguments: LineForm.allCases)
    func linesAreAppended(form: LineForm) throws {
        var buffer = ByteBuffer()
        SyncLine.keepalive(tokenExpiresIn: 1).encode(as: form.format, into: &buffer)
        SyncLine.keepalive(tokenExpiresIn: 2).encode(as: form.format, into: &buffer)
        #expect(try form.lines(of: buffer) == [.keepalive(tokenExpiresIn: 1), .keepalive(tokenExpiresIn: 2)])
    }
}
