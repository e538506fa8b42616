/// Certificates of a made-up authority for services on this machine; valid until 2126.
///
/// Made with OpenSSL 3.0: `openssl ecparam -name prime256v1 -genkey`, `openssl req -x509 -days 36500` for the authority,
/// and `openssl x509 -req -CA -days 36500` for the others. The key of the authority was thrown away; the keys below are
/// worth nothing.
package enum LoopbackCertificates {
    /// The authority that has signed the others.
    package static let authority = """
        -----BEGIN CERTIFICATE-----
        MIIBnDCCAUOgAwIBAgIULQb8fylRto5MZYDnAIXCRZrLsPIwCgYIKoZIzj0EAwIw
        IzEhMB8GA1UEAwwYUG93ZXJTeW5jIHRlc3QgYXV0aG9yaXR5MCAXDTI2MTEyMTEz
        MzQwNFoYDzIxMjYxMDI4MTMzNDA0WjAjMSEwHwYDVQQDDBhQb3dlclN5bmMgdGVz
        dCBhdXRob3JpdHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAR0qlQYIPO3Lnou
        3Klfb2L8G0UORslncoxMyi8E7Zszxd3r1lSt1EZAvIVgK+r7PIHhUBKYwQak+Zmf
        Bks3doGho1MwUTAdBgNVHQ4EFgQUVJ72fEkrTi3Ckx/ZlZhb9ZjVxQswHwYDVR0j
        BBgwFoAUVJ72fEkrTi3Ckx/ZlZhb9ZjVxQswDwYDVR0TAQH/BAUwAwEB/zAKBggq
        hkjOPQQDAgNHADBEAiAi5AQNfUsO40Xw8AMgyd82dC90G4GnbGh9wL2x80kX1AIg
        BQ339LCGi21I6qdFERyrmThPIQl4HTKJ8I/Cwd/CA1c=
        -----END CERTIFICATE-----
        """

    /// For `127.0.0.1` and `localhost`.
    package static let loopback = """
        -----BEGIN CERTIFICATE-----
        MIIBuDCCAV6gAwIBAgIUTC6XwU/v9n9gjBhSbLNB1DZaOxkwCgYIKoZIzj0EAwIw
        IzEhMB8GA1UEAwwYUG93ZXJTeW5jIHRlc3QgYXV0aG9yaXR5MCAXDTI2MTEyMTEz
        MzQwNVoYDzIxMjYxMDI4MTMzNDA1WjATMREwDwYDVQQDDAhsb29wYmFjazBZMBMG
        ByqGSM49AgEGCCqGSM49AwEHA0IABHI3CaYvi0Oy5NF84lgNKKlZtTliosqLXf3S
        4TiuIUyfJ+pVyk4A93N/FIPs/g7Avg5kGhPSNRCukDU6EWoPXOijfjB8MBoGA1Ud
        EQQTMBGHBH8AAAGCCWxvY2FsaG9zdDAJBgNVHRMEAjAAMBMGA1UdJQQMMAoGCCsG
        AQUFBwMBMB0GA1UdDgQWBBTM/IR8yAqlULaUI2C5u2e1OxCkJjAfBgNVHSMEGDAW
        gBRUnvZ8SStOLcKTH9mVmFv1mNXFCzAKBggqhkjOPQQDAgNIADBFAiEA50qC4uWI
        UNtvxwA2sq3Sqjc9J6KUEWhwfxlbCeCrkO8CIFvaNNXZtpOlWeuxPAdPCL+4Xw5i
        k3luD0Q52Xolq/+P
        -----END CERTIFICATE-----
        """
    package static let loopbackKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgxD8SCgp7ZMb4XuGc
        ShEOsiLJIhdd1HDhrckmoa1vr2ehRANCAARyNwmmL4tDsuTRfOJYDSipWbU5YqLK
        i1390uE4riFMnyfqVcpOAPdzfxSD7P4OwL4OZBoT0jUQrpA1OhFqD1zo
        -----END PRIVATE KEY-----
        """

    /// For `sync.example`.
    package static let elsewhere = """
        -----BEGIN CERTIFICATE-----
        MIIBtTCCAVygAwIBAgIUTC6XwU/v9n9gjBhSbLNB1DZaOxowCgYIKoZIzj0EAwIw
        IzEhMB8GA1UEAwwYUG93ZXJTeW5jIHRlc3QgYXV0aG9yaXR5MCAXDTI2MTEyMTEz
        MzQwNVoYDzIxMjYxMDI4MTMzNDA1WjAUMRIwEAYDVQQDDAllbHNld2hlcmUwWTAT
        BgcqhkjOPQIBBggqhkjOPQMBBwNCAATbubKagN4ARGjoKMkLcx0oVzSmHs0OPY5e
        4Sjk9Wa2B17hjQmzwtYbDO8LxBOrXMDMcwcMUfU6x4BDJjW6SphMo3sweTAXBgNV
        HREEEDAOggxzeW5jLmV4YW1wbGUwCQYDVR0TBAIwADATBgNVHSUEDDAKBggrBgEF
        BQcDATAdBgNVHQ4EFgQUIcKTBpYUJF7c0niQBCrvBOUFk70wHwYDVR0jBBgwFoAU
        VJ72fEkrTi3Ckx/ZlZhb9ZjVxQswCgYIKoZIzj0EAwIDRwAwRAIgddUdcvdT8sHj
        8oi4+Ln/+17EYhtNM1+z/de0fuYDksECIHeJozXPDy90f1/jpluhh8xd+5bDj8/E
        WWT7z/P6HXiZ
        -----END CERTIFICATE-----
        """
    package static let elsewhereKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg92csJd4fnDTi8H0i
        izdLWgUD/6GkmG6hnRlDGm4GsMyhRANCAATbubKagN4ARGjoKMkLcx0oVzSmHs0O
        PY5e4Sjk9Wa2B17hjQmzwtYbDO8LxBOrXMDMcwcMUfU6x4BDJjW6SphM
        -----END PRIVATE KEY-----
        """
}
