import PowerSyncProtocol

/// Whether a text can be part of the upload queue: a JSON object, with numbers that a double can hold.
///
/// What triggers of ours write is known to be; those of the application may write anything, and an entry that cannot be read
/// would stop all uploads behind it.
enum QueueTextCheck {
    /// Checks a text.
    ///
    /// - Throws: `JSONError` for what is wrong.
    static func check(_ text: UnsafeRawBufferPointer) throws(JSONError) {
        var scanner = unsafe JSONScanner(text)
        try scanner.beginObject()
        while try scanner.nextMember() != nil { try checkValue(&scanner) }
        try scanner.finish()
    }

    private static func checkValue(_ scanner: inout JSONScanner) throws(JSONError) {
        switch try scanner.nextKind() {
        case .number:
            try scanner.readNumber().checkRange()
        case .object:
            try scanner.beginObject()
            while try scanner.nextMember() != nil { try checkValue(&scanner) }
        case .array:
            try scanner.beginArray()
            while try scanner.nextElement() { try checkValue(&scanner) }
        case .string, .bool, .null:
            _ = try scanner.skipValue()
        }
    }
}
