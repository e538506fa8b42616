/// The server's number of a type in the log.
package struct BinlogColumnType: RawRepresentable, Sendable, Hashable {
    /// The number.
    package var rawValue: UInt8

    /// The type with this number.
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let tiny = Self(rawValue: 1)
    package static let short = Self(rawValue: 2)
    package static let long = Self(rawValue: 3)
    package static let float = Self(rawValue: 4)
    package static let double = Self(rawValue: 5)
    package static let timestamp = Self(rawValue: 7)
    package static let longlong = Self(rawValue: 8)
    package static let int24 = Self(rawValue: 9)
    package static let date = Self(rawValue: 10)
    package static let time = Self(rawValue: 11)
    package static let dateTime = Self(rawValue: 12)
    package static let year = Self(rawValue: 13)
    package static let varchar = Self(rawValue: 15)
    package static let bit = Self(rawValue: 16)
    package static let timestamp2 = Self(rawValue: 17)
    package static let dateTime2 = Self(rawValue: 18)
    package static let time2 = Self(rawValue: 19)
    package static let typedArray = Self(rawValue: 20)
    package static let blobCompressed = Self(rawValue: 140)
    package static let varcharCompressed = Self(rawValue: 141)
    package static let vector = Self(rawValue: 242)
    package static let json = Self(rawValue: 245)
    package static let newDecimal = Self(rawValue: 246)
    package static let enumeration = Self(rawValue: 247)
    package static let set = Self(rawValue: 248)
    package static let blob = Self(rawValue: 252)
    package static let varString = Self(rawValue: 253)
    package static let string = Self(rawValue: 254)
    package static let geometry = Self(rawValue: 255)
}
