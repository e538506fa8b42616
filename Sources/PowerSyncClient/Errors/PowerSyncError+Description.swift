import Foundation
import PowerSyncCore
import PowerSyncHTTP

extension PowerSyncError: CustomStringConvertible {
    /// The text for people in one line, and without the data of a row that ``errorDescription`` may have.
    ///
    /// That is so when a statement of a raw table fails: the app is told what the row holds, and logs are not.
    public var description: String {
        switch self {
        case .operationFailed(let message, let underlyingError):
            // A code says to code what the message says to people.
            let cause = message == nil || !(underlyingError is PowerSyncErrorCode) ? underlyingError : nil
            let parts = [message.map(\.withoutRow), cause?.lineOfText].compactMap(\.self)
            return parts.isEmpty ? "An unknown error occurred." : parts.joined(separator: ": ").inOneLine
        case .sqliteError(let extendedResultCode, let offset, let message, let errorString, let sql):
            let error = PowerSyncError.sqliteError(
                extendedResultCode: extendedResultCode,
                offset: offset,
                message: message?.withoutRow,
                errorString: errorString,
                sql: sql
            )
            return (error.errorDescription ?? "").inOneLine
        }
    }
}

extension Error {
    /// What a status or a log shows of the error: its own text in one line.
    package var lineOfText: String {
        if let error = self as? PowerSyncError { return error.description }
        if let reason = HTTPExchangeError.reason(self) { return reason }
        if let cause = (self as? HTTPExchangeError)?.underlyingError { return cause.lineOfText }
        return ((self as? any LocalizedError)?.errorDescription ?? cocoaText ?? "\(self)").inOneLine
    }

    /// The text of an error of Foundation, such as an `NSError` or a `URLError`, with its domain and code; `nil` for others.
    ///
    /// Printed, it shows "(null)" in place of its text on Linux, and elsewhere its dictionary, which may hold anything.
    private var cocoaText: String? {
        let (domain, code): (String, Int)
        if let custom = self as? any CustomNSError {
            (domain, code) = (type(of: custom).errorDomain, custom.errorCode)
        } else if type(of: self as Any) is NSError.Type {
            // Not a cast: on Apple platforms every error can be cast to an `NSError`. Nor the type of `self`, which is `any Error`
            // for an error that has passed through a continuation.
            (domain, code) = (_domain, _code)
        } else {
            return nil
        }
        let text = localizedDescription
        return text.contains(domain) ? text : "\(text) (\(domain) \(code))"
    }
}

extension String {
    /// The text without line breaks, and without the indentation of its lines.
    fileprivate var inOneLine: String {
        guard contains(where: \.isNewline) else { return self }
        return split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " ")
    }

    /// A message without the row that it tells of at its end.
    fileprivate var withoutRow: String {
        range(of: RawTableError.contextMark).map { String(self[..<$0.lowerBound]) } ?? self
    }
}
