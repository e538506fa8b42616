/// Which event bytes are of, for errors.
struct EventContext: Sendable {
    var event: BinlogEventType
    var file: String
    var offset: UInt64

    func error(_ fault: BinlogFault) -> BinlogError {
        BinlogError(event: event, file: file, offset: offset, fault)
    }
}
