import Foundation
import PowerSyncCore
import Testing

@testable import PowerSyncClient

/// Dates of typed rows in columns of the kind.
///
/// By the column, and not through a database: an app of these tests has a conversion of its own for `Date`, which stays as it is.
@Suite struct KindOfDatesTests {
    private func column(_ date: Date?) -> RowValues.Column {
        RowValues.Column(
            name: "due",
            value: .int64(1_800_000_000_250),
            type: Date.self,
            isJSON: false,
            date: date,
            dates: .unixMilliseconds
        )
    }

    private func text(_ value: PowerSyncDataType?) -> String? {
        switch value {
        case .string(let text)?: text
        case .int64(let number)?: "integer \(number)"
        default: nil
        }
    }

    @Test func aDateIsISO8601WhateverTheFormatSays() throws {
        let typed = try column(Date(timeIntervalSince1970: 1_800_000_000.25)).typed(.date)
        #expect(text(typed.value) == "2027-01-15T08:00:00.250000Z")
        #expect(typed.dates == .iso8601)
    }

    @Test(arguments: [ClientColumn.Kind.boolean, .json, .decimal, .uuid])
    func otherKindsDoNotChangeIt(_ kind: ClientColumn.Kind) throws {
        let typed = try column(Date(timeIntervalSince1970: 1_800_000_000.25)).typed(kind)
        #expect(typed.dates == .unixMilliseconds)
        #expect(text(typed.value) == (kind == .decimal ? "1800000000250" : "integer 1800000000250"))
    }

    @Test func theAppsOwnConversionStays() throws {
        let typed = try column(nil).typed(.date)
        #expect(text(typed.value) == "integer 1800000000250")
    }

    @Test func aDateThatISO8601DoesNotHaveIsRefused() {
        let error = #expect(throws: StoredValue.Mismatch.self) {
            try column(Date(timeIntervalSince1970: 1e15)).typed(.date)
        }
        #expect(error?.code == .outOfRange)
    }
}
