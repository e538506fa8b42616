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
///     state     = number of PUTs, PUT…, entry…, then 0 and the origin if there is one
///     PUT       = op id, bucket, then 0 if table, row id and content are those of the previous PUT, or
///                 1 and the hash of the content if table and row id are, or
///                 table + 2, row id, hash
///     row id    = its length + 1 and its bytes, or 0 and 16 bytes if it is a UUID in its usual form
///     entry     = op id of a parameter entry, hash of its outputs
///     origin    = identity (16 bytes), then 0, or the number of a table's record and the length and bytes of its id
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

    /// Under what the operations of a row were given, when that is not where its state is: of a table whose change stream names rows by
    /// other columns than those of the primary key, or did so once.
    ///
    /// Clients know operations of one row by it, so it stays for as long as the row has its primary key.
    package struct Origin: Equatable, Sendable {
        /// The identity of the row by the primary key.
        package var key: ReplicaID
        /// The number of the table's record; 0 for the record that the state is of.
        package var table: Int64 = 0
        /// The id of that record; empty for the record that the state is of.
        package var tableID: [UInt8] = []

        /// A row of the record that the state is of.
        package init(key: ReplicaID) {
            self.key = key
        }

        /// A row of a certain record.
        package init(_ row: SourceRowKey) {
            key = row.key
            table = row.table
            tableID = Array(row.tableID.utf8)
        }
    }

    /// The `PUT`s that are not superseded.
    package var puts: [Put] = []
    /// The parameter entries that are not superseded.
    package var entries: [Entry] = []
    /// Under what they were given; `nil` for the place of the state.
    package var origin: Origin?

    /// Creates a row that is nowhere.
    package init() {}

    /// The stored form.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64 + 24 * (puts.count + entries.count))
        bytes.append(number: puts.count)
        // By their places: copies would count references for each row.
        for index in puts.indices {
            bytes.append(number: UInt64(puts[index].opID))
            bytes.append(number: UInt64(puts[index].membership.bucket))
            let table = puts[index].membership.table
            if index > 0, puts[index - 1].membership.table == table,
                puts[index - 1].membership.id == puts[index].membership.id
            {
                if puts[index - 1].hash == puts[index].hash {
                    bytes.append(number: 0)
                } else {
                    bytes.append(number: 1)
                    bytes.append(puts[index].hash)
                }
            } else {
                bytes.append(number: UInt64(table) + 2)
                bytes.append(rowID: puts[index].membership.id)
                bytes.append(puts[index].hash)
            }
        }
        for entry in entries {
            bytes.append(number: UInt64(entry.opID))
            bytes.append(entry.hash)
        }
        if let origin {
            bytes.append(number: 0)
            unsafe origin.key.withBytes { unsafe bytes.append(contentsOf: $0) }
            bytes.append(number: UInt64(origin.table))
            if origin.table != 0 {
                bytes.append(number: origin.tableID.count)
                bytes.append(contentsOf: origin.tableID)
            }
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
        while !rest.isEmpty {
            let opID = try rest.readID()
            guard opID == 0 else {
                entries.append(Entry(opID: opID, hash: try rest.readHash()))
                continue
            }
            // No operation has the number 0.
            var origin = Origin(key: unsafe ReplicaID(bytes: try rest.readBytes(count: 16)))
            origin.table = try rest.readID()
            if origin.table != 0 { origin.tableID = unsafe Array(try rest.readBytes()) }
            guard rest.isEmpty else { throw StoredValues.Corruption() }
            self.origin = origin
        }
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
