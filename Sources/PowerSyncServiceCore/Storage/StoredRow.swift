/// Where a row is visible: a bucket, and the row's identity in it.
package struct Membership: Hashable, Sendable {
    /// The number of the bucket.
    package var bucket: Int64
    /// The number of the table's name on clients.
    package var table: Int64
    /// The row id on clients.
    package var id: [UInt8]

    /// Creates a membership.
    package init(bucket: Int64, table: Int64, id: [UInt8]) {
        self.bucket = bucket
        self.table = table
        self.id = id
    }
}

/// What is stored of one row of the source: where it is visible, so that it can be removed there.
///
///     state     = number of PUTs, PUT…, op id of a parameter entry…
///     PUT       = op id, bucket, then 0 if table and row id are those of the previous PUT, or
///                 table + 1, then length of the row id + 1 and its bytes, or
///                 0 and 16 bytes if the row id is a UUID in its usual form
///
/// All numbers are LEB128. With the row id here, no operation has to be read to replace it or to remove the row, wherever
/// it is by then.
package struct StoredRow: Equatable, Sendable {
    /// A `PUT` that is not superseded.
    package struct Put: Equatable, Sendable {
        package var opID: Int64
        package var membership: Membership

        /// Creates the mention of an operation.
        package init(opID: Int64, membership: Membership) {
            self.opID = opID
            self.membership = membership
        }
    }

    /// The `PUT`s that are not superseded.
    package var puts: [Put] = []
    /// The op ids of the parameter entries that are not superseded.
    package var entries: [Int64] = []

    /// Creates a row that is nowhere.
    package init() {}

    /// The stored form.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(number: puts.count)
        var previous: Membership?
        for put in puts {
            let membership = put.membership
            bytes.append(number: UInt64(put.opID))
            bytes.append(number: UInt64(membership.bucket))
            if let previous, previous.table == membership.table, previous.id == membership.id {
                bytes.append(number: 0)
            } else {
                bytes.append(number: UInt64(membership.table) + 1)
                bytes.append(rowID: membership.id)
            }
            previous = membership
        }
        for opID in entries { bytes.append(number: UInt64(opID)) }
        return bytes
    }

    /// Reads the stored form.
    package init(_ bytes: UnsafeRawBufferPointer) throws(StoredValues.Corruption) {
        var rest = bytes[...]
        for _ in 0..<(try rest.readNumber()) {
            let opID = try rest.readID()
            let bucket = try rest.readID()
            let table = try rest.readNumber()
            var membership: Membership
            if table == 0 {
                guard let previous = puts.last?.membership else { throw StoredValues.Corruption() }
                membership = previous
                membership.bucket = bucket
            } else {
                let id = try rest.readRowID()
                guard let name = Int64(exactly: table - 1) else { throw StoredValues.Corruption() }
                membership = Membership(bucket: bucket, table: name, id: id)
            }
            puts.append(Put(opID: opID, membership: membership))
        }
        while !rest.isEmpty { entries.append(try rest.readID()) }
    }
}

extension [UInt8] {
    fileprivate mutating func append(rowID: [UInt8]) {
        if let uuid = ReplicaID(canonicalText: rowID) {
            append(number: 0)
            uuid.withBytes { append(contentsOf: $0) }
        } else {
            append(number: rowID.count + 1)
            append(contentsOf: rowID)
        }
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Takes a number of the storage off the beginning: none is negative.
    fileprivate mutating func readID() throws(StoredValues.Corruption) -> Int64 {
        guard let id = Int64(exactly: try readNumber()) else { throw StoredValues.Corruption() }
        return id
    }

    fileprivate mutating func readRowID() throws(StoredValues.Corruption) -> [UInt8] {
        let count = try readNumber()
        guard count == 0 else { return Array(try readBytes(count: count - 1)) }
        var text: [UInt8] = []
        ReplicaID(bytes: try readBytes(count: 16)).appendText(to: &text)
        return text
    }
}
