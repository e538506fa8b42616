import NIOCore
import PowerSyncProtocol
import Testing

@Suite struct ValuesTests {
    @Test(
        arguments: [
            ("0", 0), ("42", 42), ("007", 7), ("9007199254740993", 9_007_199_254_740_993),
            ("9223372036854775807", .max), ("9223372036854775808", nil), ("99999999999999999999", nil), ("", nil),
            ("-1", nil), ("+1", nil), (" 1", nil), ("1.0", nil), ("1e3", nil), ("٣", nil),
        ] as [(String, Int64?)]
    )
    func opIDsAreDecimalStrings(text: String, value: Int64?) {
        #expect(OpID(decimal: text)?.rawValue == value)
        #expect(WriteCheckpoint(decimal: text)?.rawValue == value)
    }

    @Test(
        arguments: [
            (0, 0), (-1, .max), (3_573_495_687, 3_573_495_687), (-721_471_609, 3_573_495_687), (4_294_967_296, nil),
            (-2_147_483_649, nil), (-2_147_483_648, 2_147_483_648), (4_294_967_295, .max),
            (2_147_483_648, 2_147_483_648),
        ] as [(Int64, UInt32?)]
    )
    func checksumsAreSignedOrUnsigned(number: Int64, value: UInt32?) {
        #expect(Checksum(exactly: number)?.rawValue == value)
    }

    @Test func checksumsWrapAround() {
        // Operations and sums of the transcripts.
        #expect((Checksum(455_782_866) + Checksum(2_869_993_394)).signed == -969_191_036)
        #expect((Checksum(455_782_866) - Checksum(2_869_993_394) + Checksum(2_869_993_394)) == Checksum(455_782_866))
        #expect(Checksum(0xab).description == "0x000000ab")
    }

    @Test func smallerNumbersAreHigherPriorities() {
        #expect(Priority(1).includes(Priority(1)) && Priority(1).includes(Priority(0)))
        #expect(!Priority(1).includes(Priority(2)) && Priority.complete.includes(.default))
        #expect(Priority(1).isHigher(than: Priority(2)))
        #expect(!Priority(1).isHigher(than: Priority(1)) && !Priority(1).isHigher(than: Priority(0)))
    }

    @Test func bucketNamesAreBytes() {
        let composed = BucketName("\u{e9}")
        let decomposed = BucketName("e\u{301}")
        #expect(composed != decomposed && decomposed < composed)
        #expect(Set([composed, decomposed, BucketName("\u{e9}")]).count == 2)
    }

    @Test func textRangesBeyond32BitsReferToNothing() {
        var data = DataLine(bucket: BucketName("b"))
        let range = data.appendText("x")
        #expect(data.string(range) == "x")
        #expect(data.string(TextRange(offset: 1 << 40, count: 1)) == "")
        data.operations = [
            SyncOperation(
                opID: OpID(1),
                kind: .put,
                checksum: .zero,
                objectType: TextRange(offset: 0, count: 2),
                data: TextRange(offset: 1 << 40, count: 1 << 40)
            )
        ]
        // A service's mistake, which must not stop it: the texts are left out.
        #expect(LineForm.json.encode(.data(data)).text.contains(#"[{"op_id":"1","op":"PUT","checksum":0}]"#))
    }
}
