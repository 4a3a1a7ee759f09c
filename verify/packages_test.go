package verify
