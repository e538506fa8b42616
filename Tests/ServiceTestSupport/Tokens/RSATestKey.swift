/// A key pair made for these tests with `openssl genrsa 2048`; it protects nothing.
package enum RSATestKey {
    package static let pem = """
        -----BEGIN PRIVATE KEY-----
        MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQDrtpG4TV2nK4kd
        oXry5tsyTn+vrUoP4jWmk66fdIt4MecMVj04Z5C+L2b+4FDtUmunI2ZdWLtwHx/3
        Cf3t+3AgvWTzjSFpC+0aM7SdVJ7TggsugnKahl9aLLLf6kxGXQb467+eVaamno/M
        RGAHTdp3LrK4a4mUwRmLsAuUDhkoW77Z4BY2WYV+OK3GKa21GxZO13fML4tFzAmd
        jm7n8lU9Wvyw8pEP3yxXfh30PDiKeCH6YbYX/WgtPipZ6rppOhVUOgiZFTROLuhI
        aE5yaYwh/9hQaeQxzmJ9n/wa4yGxm/Sn4l0+NvRzjyUgFkM2BmzCRiP9eQr5Y8zH
        2+n4OPFRAgMBAAECggEASGlEqM6zl5hrPfwOjjJXYkP1O93LY8fFXY/+1CN0eQ8z
        gHm5wusl7xcW1/PHSLDKO4VHfCO3KUGWi0i5hnN4xcYJDjzr555vT15U/QQy6p0H
        nFkcpdXj0wrqRJlwpykK7EtYCWcclBEf8cuLiJLlKzngU4FNubH8jAof9HLETb4S
        nFI5l7c9kbCLVfFtpq9cZPMgxSg7mvcdVgI3D8ksVshjUj9pG9LdzVX+7NPHqDPh
        CKoLVf38Rn3k+yTs40Pd/UGZakkDadO+JmtjHTc2zCPWNkrGVgePoTQFW1/6BwQU
        96BLXHVZQOtYR7iewW7Dg+udikwZSZWHnidVQycDtQKBgQD2uzIngRp2Z2R8XvT8
        vQxsZf5MyEefqOAnuHCtjZVI77Yh2FawaI7TEl1ZoYREhXmIWGVXnwGmSJveIeFu
        v2aN0fFY2fr2CagPcYaozNPFrHG9uO2RvZEbJHLORLCXCqKj5qNOPrxLr6VTx888
        pqvI5YjRje7axEZVV94szvnffwKBgQD0kWm3F2YhP2pF5O0ozECfJfo+lKiTNnOD
        okOe+G0X5nyveneYipPIkNNaGb6SYLrJIXhH8Lu+lL2eAQ5RWEKE6dS9EuENkc8o
        +FQ01yiMpnnefzZHBn5i15XLagXd/UWvQn7W40rt24szGa47FjhcI3LNvQuFuQ2I
        EsMdjPuXLwKBgQDQcY/Krhh0JZ9QL0zb5L8FKRmxNpbD/QD6raiMBwwy5UlCyKlc
        OclH6sDwwzKiTP1CwiND5jKXj8oW3Rq93HfAorg6L1YE3F2eRnPUUc8rticVeJFE
        Shm4C4/uUTu7LyH+RBB9PyUG8CpFYI3lGI4SmFCBcV50ddNRsH0j7+xL8wKBgE/e
        6XJ0/tKe3jsjT1yCkBwpj/c+H2usXb9Aj+rr4NzsVg4M5d/4adkXix6ix70QQBAN
        kTWVZgsQknh2idGBDIBRyTtSXhNLaidMKlvzZHfCqoxCaVx6v23SUEZVQsNDwq1A
        /yF4q3DQwT4YBfGgCRn2LbkJIykxzTyCPBx7fXLbAoGBAPBPiBrcZ1/Q4b1pCdQL
        rHB6Ify7xaJjZTciVrXFVdEYPsJzWo413Uacakj8sYW3r+CQeDne4JSy/k3VN8rS
        csLm3qajacJKw9P6s7gLrRjnBugcDGgz4V3eABpw+jtmg/7iqK0Lqp2HHt4uSEKz
        dPePvC0sthDjQcuHCLq4cBxJ
        -----END PRIVATE KEY-----
        """
}
