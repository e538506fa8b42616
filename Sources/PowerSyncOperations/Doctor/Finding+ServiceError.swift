import PowerSyncServiceCore

extension [Finding] {
    /// Adds what keeps a service from starting, in the words with which it says so.
    mutating func fail(_ area: Finding.Area, _ error: any Error) {
        guard let error = error as? ServiceError else {
            return fail(area, "\(error)", remedy: ServiceError.remedyForOthers(in: area))
        }
        var message = ([error.message] + error.diagnostics).joined(separator: "\n")
        if let cause = error.underlyingError { message += "\ncause: \(cause)" }
        append(
            Finding(
                .error,
                area,
                code: error.catalogueCode,
                place: .init(location: error.file, line: error.line, key: error.key),
                message,
                remedy: error.remedy(in: area)
            )
        )
        for other in error.others { fail(area, other) }
    }
}
