import Testing

@testable import PowerSyncCore

@Suite struct OplogKeyTests {
    private func hash(_ text: String, bucket: Int64 = 1) -> UInt64 {
        Array(text.utf8).withUnsafeBytes { OplogKey.hash($0, bucket: bucket) }
    }

    @Test(arguments: ["", "a", "1234567", "12345678", "123456789", "1234567812345678"])
    func hashDependsOnEveryByteAndTheBucket(_ text: String) {
        #expect(hash(text) == hash(text))
        #expect(hash(text) != hash(text, bucket: 2))
        #expect(hash(text) != hash(text + "\u{0}"))
        for index in text.utf8.indices {
            var bytes = Array(text.utf8)
            bytes[text.utf8.distance(from: text.startIndex, to: index)] ^= 1
            #expect(hash(text) != hash(String(decoding: bytes, as: UTF8.self)))
        }
    }
}
