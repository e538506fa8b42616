import Crypto
import Foundation

/// As which replica a stream reads the log: the same one after a restart, so that the server ends what a dead process has left behind.
///
/// A server ends another dump with the same number (MariaDB), or with the same UUID (MySQL).
struct ReplicaIdentity: Hashable, Sendable {
    /// A UUID of version 5 of the stream's handle, which no other stream of any service has.
    var uuid: String
    /// The number of the replica.
    var number: UInt32

    private static let namespace: [UInt8] = [
        0x5b, 0x1e, 0x0c, 0x8a, 0x9c, 0x0e, 0x4f, 0x0d, 0x9b, 0x61, 0x2f, 0x7d, 0x3c, 0x55, 0x10, 0xd4,
    ]

    /// The identity of a stream.
    ///
    /// - Parameters:
    ///   - handle: What the stream is called.
    ///   - firstNumber: The first of 8 numbers that no other replica has; 0 for one of 2³⁰ numbers that is made of the UUID.
    ///   - taken: The numbers of other streams of this process: a config that takes the place of another is read beside it.
    init(_ handle: String, firstNumber: UInt32, besides taken: Set<UInt32> = []) {
        var bytes = Array(Insecure.SHA1.hash(data: Self.namespace + Array(handle.utf8)).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x50
        bytes[8] = bytes[8] & 0x3F | 0x80
        let tail = bytes[12...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let numbers =
            firstNumber == 0 ? [0x4000_0000 | tail & 0x3FFF_FFFF] : (0..<8).map { firstNumber &+ (tail % 8 + $0) % 8 }
        number = numbers.first { !taken.contains($0) } ?? numbers[0]
        let digits = bytes.map { String($0 >> 4, radix: 16) + String($0 & 0xF, radix: 16) }.joined()
        var text = ""
        for (place, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(place) { text.append("-") }
            text.append(digit)
        }
        uuid = text
    }
}
