import PowerSyncProtocol

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

/// What is stored of one row of the source: where it is visible, so that it can be removed there, and with what, so that nothing
/// is given twice.
///
///     state     = number of PUTs, PUT…, entry…
///     PUT       = op id, bucket, then 0 if table, row id and content are those of the previous PUT, or
///                 1 and the hash of the content if table and row id are, or
///                 table + 2, row id, hash
///     row id    = its length + 1 and its bytes, or 0 and 16 bytes if it is a UUID in its usual form
///     entry     = op id of a parameter entry, hash of its outputs
///     hash      = the keyed number (8 bytes) and the checksum (4 bytes) of a ContentHash, little-endian
///
/// All other numbers are LEB128. With the row id here, no operation has to be read to replace it or to remove the row, wherever
/// it is by then.
package struct StoredRow: Equatable, Sendable {
    /// A `PUT` that is not superseded.
    package struct Put: Equatable, Sendable {
        package var opID: Int64
        package var membership: Membership
        package var hash: ContentHash

        /// Creates the mention of an operation.
        package init(opID: Int64, membership: Membership, hash: ContentHash) {
            self.opID = opID
            self.membership = membership
            self.hash = hash
        }
    }

    /// A parameter entry that is not superseded.
    package struct Entry: Equatable, Sendable {
        package var opID: Int64
        package var hash: ContentHash

        /// Creates the mention of an entry.
        package init(opID: Int64, hash: ContentHash) {
            self.opID = opID
            self.hash = hash
        }
    }

    /// The `PUT`s that are not superseded.
    package var puts: [Put] = []
    /// The parameter entries that are not superseded.
    package var entries: [Entry] = []

    /// Creates a row that is nowhere.
    package init() {}

    /// The stored form.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(number: puts.count)
        var previous: Put?
        for put in puts {
            let membership = put.membership
            bytes.append(number: UInt64(put.opID))
            bytes.append(number: UInt64(membership.bucket))
            if let previous, previous.membership.table == membership.table, previous.membership.id == membership.id {
                if previous.hash == put.hash {
                    bytes.append(number: 0)
                } else {
                    bytes.append(number: 1)
                    bytes.append(put.hash)
                }
            } else {
                bytes.append(number: UInt64(membership.table) + 2)
                bytes.append(rowID: membership.id)
                bytes.append(put.hash)
            }
            previous = put
        }
        for entry in entries {
            bytes.append(number: UInt64(entry.opID))
            bytes.append(entry.hash)
        }
        return bytes
    }

    /// Reads the stored form.
    package init(_ bytes: UnsafeRawBufferPointer) throws(StoredValues.Corruption) {
        var rest = unsafe StoredBytes(bytes)
        for _ in 0..<(try rest.readNumber()) {
            let opID = try rest.readID()
            let bucket = try rest.readID()
            let table = try rest.readNumber()
            var put: Put
            if table < 2 {
                guard let previous = puts.last else { throw StoredValues.Corruption() }
                put = previous
                (put.opID, put.membership.bucket) = (opID, bucket)
                if table == 1 { put.hash = try rest.readHash() }
            } else {
                let id = try rest.readRowID()
                guard let name = Int64(exactly: table - 2) else { throw StoredValues.Corruption() }
                let membership = Membership(bucket: bucket, table: name, id: id)
                put = Put(opID: opID, membership: membership, hash: try rest.readHash())
            }
            puts.append(put)
        }
        while !rest.isEmpty { entries.append(Entry(opID: try rest.readID(), hash: try rest.readHash())) }
    }
}

extension [UInt8] {
    fileprivate mutating func append(rowID: [UInt8]) {
        if let uuid = ReplicaID(canonicalText: rowID) {
            append(number: 0)
            unsafe uuid.withBytes { unsafe append(contentsOf: $0) }
        } else {
            append(number: rowID.count + 1)
            append(contentsOf: rowID)
        }
    }

    fileprivate mutating func append(_ hash: ContentHash) {
        unsafe Swift.withUnsafeBytes(of: hash.keyed.littleEndian) { unsafe append(contentsOf: $0) }
        unsafe Swift.withUnsafeBytes(of: hash.checksum.rawValue.littleEndian) { unsafe append(contentsOf: $0) }
    }
}

extension StoredBytes {
    /// Takes a number of the storage: none is negative.
    fileprivate mutating func readID() throws(StoredValues.Corruption) -> Int64 {
        guard let id = Int64(exactly: try readNumber()) else { throw StoredValues.Corruption() }
        return id
    }

    fileprivate mutating func readHash() throws(StoredValues.Corruption) -> ContentHash {
        let keyed = try readInteger(as: UInt64.self)
        return ContentHash(checksum: Checksum(try readInteger()), keyed: keyed)
    }

    fileprivate mutating func readRowID() throws(StoredValues.Corruption) -> [UInt8] {
        let count = try readNumber()
        guard count == 0 else { return unsafe Array(try readBytes(count: count - 1)) }
        var text: [UInt8] = []
        unsafe ReplicaID(bytes: try readBytes(count: 16)).appendText(to: &text)
        return text
    }
}
