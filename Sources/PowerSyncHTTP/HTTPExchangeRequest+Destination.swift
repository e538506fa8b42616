package import Foundation
import NIOHTTP1

extension HTTPExchangeRequest {
    /// Where it goes, when it can be sent as it is.
    ///
    /// - Throws: ``HTTPExchangeError`` with code ``HTTPExchangeError/Code/invalidURL`` or
    ///   ``HTTPExchangeError/Code/invalidHeader``, and nothing of the request: tokens are in its head.
    package var destination: URL {
        get throws(HTTPExchangeError) {
            guard let url = URL(string: url), url.host != nil, url.hasUsablePort else {
                throw HTTPExchangeError(.invalidURL)
            }
            guard headers.areSeparate else { throw HTTPExchangeError(.invalidHeader) }
            return url
        }
    }
}

extension URL {
    /// Whether there is no port, or one of 16 bits: libraries end the process for larger numbers.
    package var hasUsablePort: Bool { port.map { UInt16(exactly: $0) != nil } ?? true }
}

extension HTTPHeaders {
    /// Whether each is one field, and not several in one: whoever sends them may send what it gets.
    fileprivate var areSeparate: Bool { allSatisfy { Self.isOneField($0.name, $0.value) } }

    private static func isOneField(_ name: String, _ value: String) -> Bool {
        let separators = #"()<>@,;:\"/[]?={}"#.utf8
        return !name.isEmpty && name.utf8.allSatisfy { (0x21...0x7e).contains($0) && !separators.contains($0) }
            && value.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7f) }
    }
}
