import PowerSyncProtocol

extension SyncLine {
    /// Operations that put rows into `lists`; the ids of rows are `<bucket><op id>`.
    static func put(_ bucket: String, _ opIDs: ClosedRange<Int64>) -> SyncLine {
        var line = DataLine(bucket: BucketName(bucket))
        for opID in opIDs {
            line.append(
                .put,
                opID: OpID(opID),
                checksum: .zero,
                objectType: "lists",
                objectID: "\(bucket)\(opID)",
                data: #"{"name":"remote"}"#
            )
        }
        return .data(line)
    }

    /// An operation that puts a row into a table, or removes it when there is no data.
    static func row(_ bucket: String, _ opID: Int64, _ table: String, _ id: String, _ data: String?) -> SyncLine {
        var line = DataLine(bucket: BucketName(bucket))
        line.append(
            data == nil ? .remove : .put,
            opID: OpID(opID),
            checksum: .zero,
            objectType: table,
            objectID: id,
            data: data
        )
        return .data(line)
    }
}
