import Crypto
import Foundation
package import PowerSyncUpload

/// What a database remembers of the writes of a client (docs/backend.md "Which writes were applied").
package struct ClientRecords: Sendable {
    /// The writes of a transaction that are not in the database.
    package struct NewWrites: Sendable {
        package var entries: [UploadEntry]
        /// The number from which on the records of the client are removed, because it counts anew.
        package var restart: Int64?
    }

    /// The row of the client.
    package let client: Int64
    /// The greatest number whose record was removed.
    private let forgottenThrough: Int64
    /// The digests of the applied writes that the request may be about, by number.
    private let digests: [Int64: [UInt8]]
    /// From where on numbers are used for the second time.
    private var restartedAt: Int64?

    package init(client: Int64, forgottenThrough: Int64, digests: [Int64: [UInt8]]) {
        self.client = client
        self.forgottenThrough = forgottenThrough
        self.digests = digests
    }

    /// The writes of a transaction that are not in the database.
    ///
    /// A number that was used for something else shows that the client counts anew from there, because its file was replaced
    /// by an older copy: everything from that number on is new.
    ///
    /// - Throws: ``RejectedTransaction`` when it is not known whether some are.
    package mutating func newWrites(of transaction: ArraySlice<UploadEntry>) throws -> NewWrites {
        var new = NewWrites(entries: [])
        var forgotten: [EntryRejection] = []
        for entry in transaction {
            let number = entry.operationID
            if let restartedAt, number >= restartedAt {
                new.entries.append(entry)
            } else if let digest = digests[number] {
                guard digest != Self.digest(of: entry) else { continue }
                restartedAt = number
                new.restart = number
                new.entries.append(entry)
            } else if number > forgottenThrough {
                new.entries.append(entry)
            } else {
                forgotten.append(Self.forgotten(number))
            }
        }
        guard forgotten.isEmpty else { throw RejectedTransaction(new.entries, because: forgotten) }
        return new
    }

    private static func forgotten(_ number: Int64) -> EntryRejection {
        EntryRejection(
            operationID: number,
            .numberForgotten,
            message: """
                A write with this number was applied long ago, and it is not known whether it is this one: \
                the client's database seems to be an older copy.
                """
        )
    }

    /// The first half of the SHA-256 of what was written.
    package static func digest(of entry: UploadEntry) -> [UInt8] {
        Array(SHA256.hash(data: Data(entry.contentText.utf8)).prefix(16))
    }
}
