import PowerSyncProtocol

extension SQLFunctions {
    /// The functions that triggers use to put rows and queue entries together.
    static var jsonFunctions: [ScalarFunction] {
        [
            ScalarFunction(
                name: "powersync_diff",
                argumentCount: 2,
                options: [.deterministic, .innocuous, .resultSubtype]
            ) {
                call in
                guard !call[0].isNull, !call[1].isNull else {
                    throw LocalDatabaseError.invalidArgument("expected two JSON objects", cause: "NULL")
                }
                do throws(JSONError) {
                    try unsafe call.state.difference.withDifference(from: call[0].bytes, to: call[1].bytes) { bytes in
                        unsafe call.result(bytes, subtype: SQLArgument.jsonSubtype)
                    }
                } catch {
                    throw LocalDatabaseError.invalidArgument("expected two JSON objects", cause: error.description)
                }
            },
            ScalarFunction(
                name: "powersync_json_merge",
                argumentCount: -1,
                options: [.deterministic, .innocuous, .resultSubtype]
            ) {
                try merge($0)
            },
        ]
    }

    /// Puts the members of all arguments into one object, as text; NULL has none.
    ///
    /// Each argument is only looked at from outside.
    private static func merge(_ call: FunctionCall) throws {
        var output = JSONBytes()
        output.append("{")
        var isFirst = true
        for index in 0..<call.count where !call[index].isNull {
            let object = unsafe call[index].bytes
            guard object.count >= 2, unsafe object.first == UInt8(ascii: "{"), unsafe object.last == UInt8(ascii: "}")
            else {
                throw LocalDatabaseError.invalidArgument("Expected json object", cause: "argument \(index + 1)")
            }
            guard object.count > 2 else { continue }
            if !isFirst {
                output.append(",")
            }
            isFirst = false
            unsafe output.append(UnsafeRawBufferPointer(rebasing: object[1..<object.count - 1]))
        }
        output.append("}")
        unsafe output.withUnsafeBytes { unsafe call.result($0, subtype: SQLArgument.jsonSubtype) }
    }
}
