package import Foundation

/// How many write checkpoints a storage keeps of one user, and for how long (docs/service.md "Write checkpoints of the service").
///
/// A user decides what its clients call themselves, so that nothing else keeps one from filling the storage.
package enum WriteCheckpointRetention {
    /// The clients of one user that are remembered: beyond these, the one goes that has asked for nothing for the longest time.
    package static let clientsOfUser = 1000
    /// How long the number is kept that a client has chosen, in seconds: an hour.
    package static let ofRequests: TimeInterval = 3600
    /// How long the number of a client is kept that asks for nothing, in seconds: 90 days.
    package static let ofClients: TimeInterval = 90 * 24 * 3600

    /// The count of numbers that are skipped when a storage was put back to an older state: more than any client has been given since.
    package static let skippedNumbers: Int64 = 1_000_000_000

    /// The user that a key of write checkpoints belongs to: the bytes before the first slash.
    ///
    /// A user id has no slash in it (`VerifiedToken.writeCheckpointKey(clientID:)`). By bytes: a client id may begin with a mark that
    /// makes one character with the slash.
    package static func user(ofKey key: String) -> [UInt8] { Array(key.utf8.prefix { $0 != UInt8(ascii: "/") }) }
}
